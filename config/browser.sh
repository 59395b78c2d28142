# Sourced by ./test: the browser that its tests drive, in CONCORD_CHROMIUM.

find_browser() {
    if [ -z "${CONCORD_CHROMIUM:-}" ]; then
        CONCORD_CHROMIUM=$(installed_browser || { debian_browser && installed_browser; } || playwright_browser) || return
    fi
    export CONCORD_CHROMIUM
    echo "$CONCORD_CHROMIUM"
}

installed_browser() {
    local candidate
    for candidate in chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        # Asked for its version: Ubuntu's chromium-browser is there only to say that it is not.
        if "$candidate" --version >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

debian_browser() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2 </dev/null
}

playwright_browser() {
    playwright install chromium >&2 || return
    python -c 'from playwright.sync_api import sync_playwright as start
with start() as playwright:
    print(playwright.chromium.executable_path)'
}
