
'use strict';
for (const e of document.querySelectorAll('.origin')) e.textContent = location.origin;

const nav = document.querySelector('nav');
const groups = [...nav.querySelectorAll('details')];
const filter = nav.querySelector('input');
filter.parentElement.hidden = false;
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of groups) {
    let any = false;
    for (const item of group.querySelectorAll('li')) {
      const found = words.every(w => item.dataset.find.toLowerCase().includes(w));
      item.hidden = !found;
      any ||= found;
    }
    group.hidden = !any;
    group.open = any && words.length > 0;
  }
});

let current;
const links = new Map([...nav.querySelectorAll('a')].filter(a => a.hash).map(a => [a.hash.slice(1), a]));
// Everything was on one page once. Links to it still work.
function redirect() {
  const link = links.get(location.hash.slice(1));
  if (link && link.pathname !== location.pathname) location.replace(link.href);
}
redirect();
addEventListener('hashchange', redirect);
const seen = new IntersectionObserver(entries => {
  const link = links.get(entries.findLast(e => e.isIntersecting)?.target.id);
  if (!link || link === current) return;
  current?.removeAttribute('aria-current');
  const group = link.closest('details'), before = current?.closest('details');
  if (!filter.value && matchMedia('(min-width: 60rem)').matches) {
    if (before && before !== group) before.open = false;
    if (group) group.open = true;
    link.scrollIntoView({block: 'nearest'});
  }
  link.setAttribute('aria-current', 'true');
  current = link;
}, {rootMargin: '-12% 0px -86%'});
for (const section of document.querySelectorAll('main section[id]')) seen.observe(section);

if (navigator.clipboard) for (const example of document.querySelectorAll('.example')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(example.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  example.append(button);
}
