// Finds the words of a search in a text. Ignores case and accents, like the search of the console.

export interface HighlightPiece {
  text: string;
  isMatch: boolean;
}

export function highlight(content: string, query: string): HighlightPiece[] {
  const words = fold(query)
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0 || content === '') return [{ text: content, isMatch: false }];
  const characters = Array.from(content);
  // Folding can turn one character into several (ß) or none (a combining accent), so `sources` maps back to the original.
  let folded = '';
  const sources: number[] = [];
  for (const [index, character] of characters.entries()) {
    const part = fold(character);
    folded += part;
    for (let unit = 0; unit < part.length; unit += 1) sources.push(index);
  }
  const isMarked = new Array<boolean>(characters.length).fill(false);
  for (const word of words) {
    for (let at = folded.indexOf(word); at !== -1; at = folded.indexOf(word, at + word.length)) {
      isMarked.fill(true, sources[at] ?? 0, (sources[at + word.length - 1] ?? 0) + 1);
    }
  }
  const pieces: HighlightPiece[] = [];
  for (const [index, character] of characters.entries()) {
    const isMatch = isMarked[index] === true;
    const last = pieces.at(-1);
    if (last?.isMatch === isMatch) last.text += character;
    else pieces.push({ text: character, isMatch });
  }
  return pieces;
}

function fold(content: string): string {
  return content
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .toUpperCase();
}
