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

  const carriedOut = new Set();
  let awaited = null;
  // Rendering is halted for each switch, which the player must not take for an interruption.
  const testEngine = { ...engine, volume: 1, latencyMs: 0, wake: async () => true, addEventListener() {} };
  // Every command is waited for: rendering is faster than messages travel.
  testEngine.attach = (onReport) =>
    engine.attach((report) => {
      carriedOut.add(report.sequence);
      if (awaited && report.sequence >= awaited.sequence) awaited.resolve();
      onReport(report);
    });
  let latest = 0;
  testEngine.command = (...command) => (latest = engine.command(...command));
  const caughtUp = () =>
    new Promise((resolve) => {
      awaited = { sequence: latest, resolve };
      if (carriedOut.has(latest)) resolve();
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
  const player = createPlayer({ engine: testEngine, loader, clips: list, fadeMs });
  for (const quantum of switches) {
    context.suspend((quantum * 128) / 48000).then(async () => {
      testEngine.command("setAudible", { value: true }); // changes nothing; what was heard until here is reported
      await caughtUp();
      await player.switchOver();
      await caughtUp();
      context.resume();
    });
  }
  await player.play(list[0].name);
  await caughtUp();
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
