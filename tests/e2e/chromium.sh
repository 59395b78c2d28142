#!/bin/sh
# The browser in CONCORD_CHROMIUM, with two more features off than those that Playwright puts out. Of several lists
# Chromium heeds the last, so these join Playwright's. Each new window otherwise loads, into a process of its own, the
# two pages that would drop from the address bar, which nobody sees here: most of what opening a window costs.
for argument; do
    shift
    case $argument in
        --disable-features=*) argument=$argument,WebUIOmniboxPopup,WebUIOmniboxAimPopup ;;
    esac
    set -- "$@" "$argument"
done
exec "$CONCORD_CHROMIUM" "$@"
