/** Opens the <details> that the address's fragment points into, since not every browser does. */
export default function start(element) {
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    const details = element.contains(target) && target.closest("details");
    if (!details) return;
    details.open = true;
    details.hidden = false;
    details.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
}
