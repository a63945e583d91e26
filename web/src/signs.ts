/** What must be seen from across the room: a band above everything, and a sound for those who want one. */

import "./signs.css";
import type { ShownFeed } from "./feed";
import type { Model } from "./model";
import { duration } from "./numbers";
import type { Sign } from "./protocol";

/** Milliseconds between sounds, as long as there is an alarm. */
const pause = 10_000;

export class Signs {
  private readonly band = document.createElement("div");
  private readonly button = document.createElement("button");
  private audio: AudioContext | null = null;
  private soundedAt = -Infinity;
  private announced = "";

  constructor(private readonly model: Model) {
    this.band.id = "signs";
    this.band.hidden = true;
    document.body.prepend(this.band);
    this.button.id = "sound";
    this.button.type = "button";
    this.button.textContent = "Sound off";
    this.button.title = "A sound every ten seconds as long as there is an alarm; off again when the page is loaded";
    this.button.setAttribute("aria-pressed", "false");
    this.button.onclick = () => this.switch();
    document.querySelector("header")!.append(this.button);
  }

  /** All signs: those of the server, and that there is none to hear of. */
  all(feed: ShownFeed): Sign[] {
    if (feed.name === "disconnected") return [{ sign: "disconnected", level: "alarm", text: feed.text }];
    const aged = performance.now() - this.model.statusAt;
    return (this.model.status?.signs ?? []).map((sign) => {
      // Counted on, as the line at the top is.
      const packet = this.model.status?.feed.packet_ms;
      const isSilence = sign.sign === "no_data" && packet !== null && packet !== undefined;
      return isSilence ? { ...sign, text: `No data for ${duration(packet + aged, true)}` } : sign;
    });
  }

  update(feed: ShownFeed): void {
    const signs = this.all(feed);
    const isAlarm = signs.some(({ level }) => level === "alarm");
    const text = signs.map(({ text }) => text).join(" · ");
    this.band.hidden = signs.length === 0;
    this.band.dataset.tone = isAlarm ? "bad" : "wait";
    if (this.band.textContent !== text) this.band.textContent = text;
    // Read aloud when there is another sign, and not whenever a number changes.
    const kinds = signs.map(({ sign }) => sign).join(" ");
    this.band.setAttribute("role", kinds === this.announced ? "group" : "alert");
    this.announced = kinds;
    if (isAlarm) this.sound();
    else this.soundedAt = -Infinity;
  }

  private switch(): void {
    const isOn = this.audio === null;
    if (isOn) this.audio = new AudioContext();
    else void this.audio?.close();
    if (!isOn) this.audio = null;
    this.button.setAttribute("aria-pressed", String(isOn));
    this.button.textContent = isOn ? "Sound on" : "Sound off";
    this.soundedAt = -Infinity;
  }

  /** Two short tones, which no instrument has. */
  private sound(): void {
    const { audio } = this;
    if (!audio || performance.now() - this.soundedAt < pause) return;
    this.soundedAt = performance.now();
    for (const [place, frequency] of [880, 660].entries()) {
      const tone = new OscillatorNode(audio, { frequency });
      const loudness = new GainNode(audio, { gain: 0.15 });
      tone.connect(loudness).connect(audio.destination);
      tone.start(audio.currentTime + place * 0.25);
      tone.stop(audio.currentTime + place * 0.25 + 0.2);
    }
  }
}
