// Progressive enhancement of the screens of Tocsin. Everything works without it.
(() => {
  const form = document.querySelector('form.tocsin-templates');
  if (!form) return;
  const toolbar = form.querySelector('.tocsin-toolbar');
  const labels = toolbar.dataset;

  // Clicking a placeholder inserts it at the cursor position.
  for (const list of form.querySelectorAll('.tocsin-placeholders')) {
    const details = list.closest('details');
    let target = details.querySelector('textarea');
    details.addEventListener('focusin', ({ target: field }) => {
      if (field.matches('input[type="text"], textarea')) target = field;
    });
    for (const code of list.querySelectorAll('code')) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'button-link';
      button.setAttribute(
        'aria-label',
        labels.insert.replace('%s', () => code.textContent),
      );
      code.replaceWith(button);
      button.append(code);
      button.addEventListener('click', () => {
        target.setRangeText(code.textContent, target.selectionStart, target.selectionEnd, 'end');
        target.dispatchEvent(new Event('input', { bubbles: true }));
        target.focus();
      });
    }
  }

  // Warns before leaving the page with unsaved changes.
  let isChanged = false;
  form.addEventListener('input', ({ target }) => {
    if (target.name) isChanged = true;
  });
  form.addEventListener('submit', () => {
    isChanged = false;
  });
  window.addEventListener('beforeunload', (event) => {
    if (isChanged) event.preventDefault();
  });

  // Adds a search field for the list of templates.
  const label = document.createElement('label');
  label.className = 'screen-reader-text';
  label.htmlFor = 'tocsin-find';
  label.textContent = labels.find;
  const find = document.createElement('input');
  find.type = 'search';
  find.id = 'tocsin-find';
  find.placeholder = labels.find;
  const noMatch = document.createElement('p');
  noMatch.setAttribute('role', 'status');
  toolbar.append(label, find, noMatch);
  find.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault();
  });
  find.addEventListener('input', () => {
    const term = find.value.trim().toLowerCase();
    let found = 0;
    for (const section of form.querySelectorAll('.tocsin-scenario')) {
      let isAnyShown = false;
      for (const template of section.querySelectorAll('.tocsin-template')) {
        template.hidden = !`${section.dataset.name} ${template.dataset.search}`.toLowerCase().includes(term);
        if (!template.hidden) {
          isAnyShown = true;
          found += 1;
        }
      }
      section.hidden = !isAnyShown;
    }
    noMatch.textContent = found === 0 ? labels.noMatch : '';
  });
})();
