/**
 * Plays two clips through the page's own player into an OfflineAudioContext and gives back what came out.
 * `clips`: {name: [parts as base64 FLAC]}; `switches`: at which quantum of 128 samples each switch is asked for.
 */
async ({ clips, switches, samples, fadeMs, root }) => {
  const { createEngine, createDecoder } = await import(`${root}engine.js`);
  const { createPlayer } = await import(`${root}player.js`);
  const context = new OfflineAudioContext(2, samples, 48000);
  const engine = createEngine({ open: () => context });
  await engine.ready;
  const decode = createDecoder();
  const bytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer;
  const decoded = {};
  for (const [name, parts] of Object.entries(clips)) {
    decoded[name] = [];
    for (const part of parts) decoded[name].push(await decode(bytes(part)));
  }

  const done = new Set();
  let wanted = null;
  // Rendering is halted for each switch, which the player must not take for an interruption.
  const orders = { ...engine, volume: 1, latencyMs: 0, wake: async () => true, addEventListener() {} };
  // Every order is waited for: rendering is faster than messages travel.
  orders.attach = (take) =>
    engine.attach((report) => {
      done.add(report.ticket);
      if (wanted && report.ticket >= wanted.ticket) wanted.resolve();
      take(report);
    });
  let latest = 0;
  orders.order = (...order) => (latest = engine.order(...order));
  const followed = () =>
    new Promise((resolve) => {
      wanted = { ticket: latest, resolve };
      if (done.has(latest)) resolve();
    });

  const loader = {
    focus() {},
    close() {},
    connect(sink) {
      for (const [name, parts] of Object.entries(decoded)) {
        for (const [part, channels] of parts.entries()) sink.put({ name, part, channels });
      }
    },
  };
  const list = Object.keys(clips).map((name) => ({ name, group: "candidates", switches: true, samples, gain_db: 0 }));
  const player = createPlayer({ engine: orders, loader, clips: list, fadeMs });
  for (const quantum of switches) {
    context.suspend((quantum * 128) / 48000).then(async () => {
      orders.order("setAudible", { value: true }); // changes nothing; what was heard until here is reported
      await followed();
      await player.switchOver();
      await followed();
      context.resume();
    });
  }
  await player.play(list[0].name);
  await followed();
  const rendered = await context.startRendering();
  const left = rendered.getChannelData(0);
  const right = rendered.getChannelData(1);
  player.dispose();
  const pack = (channel) => {
    const raw = new Uint8Array(channel.buffer, channel.byteOffset, channel.byteLength);
    let text = "";
    for (let i = 0; i < raw.length; i += 32768) text += String.fromCharCode(...raw.subarray(i, i + 32768));
    return btoa(text);
  };
  return { left: pack(left), right: pack(right), switches: player.switches };
}
