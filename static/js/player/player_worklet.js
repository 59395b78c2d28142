/** Audio worklet: runs the mixer on the audio thread; commands come in as messages, reports go back. */
import { createMixer } from "./mixer.js";

// Quanta of 128 samples between two reports while something plays: 32 ms.
const REPORT_EVERY = 12;

class Player extends AudioWorkletProcessor {
  constructor() {
    super();
    this.quantaSinceReport = 0;
    this.sequence = 0; // of the latest command carried out
    this.ended = [];
    this.mixer = createMixer({ onEnded: (name) => this.ended.push(name) });
    this.port.onmessage = ({ data: { command, sequence, ...parameters } }) => {
      this.mixer[command](parameters);
      this.sequence = sequence;
      if (command !== "put" && command !== "drop") this.postReport();
    };
  }

  process(_inputs, [[left, right]]) {
    this.mixer.render(left, right);
    this.quantaSinceReport += 1;
    if (this.ended.length || this.quantaSinceReport >= REPORT_EVERY) this.postReport();
    return true;
  }

  postReport() {
    this.quantaSinceReport = 0;
    this.port.postMessage({ ...this.mixer.report(), ended: this.ended.splice(0), sequence: this.sequence });
  }
}

registerProcessor("concord-player", Player);
