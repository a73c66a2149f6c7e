// Where the words of a search occur in a text. Compares as the console's search does: without regard to case and accents.

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
  // Folding may make one character several (ß), or none (a combining accent): `owners` leads back.
  let folded = '';
  const owners: number[] = [];
  for (const [index, character] of characters.entries()) {
    const part = fold(character);
    folded += part;
    for (let unit = 0; unit < part.length; unit += 1) owners.push(index);
  }
  const isMarked = new Array<boolean>(characters.length).fill(false);
  for (const word of words) {
    for (let at = folded.indexOf(word); at !== -1; at = folded.indexOf(word, at + word.length)) {
      isMarked.fill(true, owners[at] ?? 0, (owners[at + word.length - 1] ?? 0) + 1);
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
