/** What the tabs of one account tell each other. Where there is no channel, each still hears the server. */
export function createTabs(account, { Channel = globalThis.BroadcastChannel } = {}) {
  if (!Channel) return { tell() {}, listen() {} };
  const channel = new Channel(`concord:${account}`);
  return {
    tell: (message) => channel.postMessage(message),
    listen: (onMessage) => channel.addEventListener("message", ({ data }) => onMessage(data)),
  };
}
