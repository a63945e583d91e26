/** Asks the server for series over a time, again and again while somebody looks. */

/** What a series is; described in docs/http-api.md, as is the rest. */
export interface SeriesInfo {
  id: string;
  name: string;
  labels: Record<string, string>;
  title: string;
  unit: string;
  kind: "rate" | "gauge";
  group: string;
  help: string;
}

export interface SeriesList {
  now_ms: number | null;
  since_ms: number | null;
  kept: { step_s: number; for_s: number }[];
  series: SeriesInfo[];
  left_out: number;
}

/** What a series was in a step that begins then. */
export interface SeriesPoint {
  at_ms: number;
  min: number;
  mean: number;
  max: number;
}

export interface HistoryAnswer {
  step_ms: number;
  from_ms: number;
  to_ms: number;
  series: { id: string; points: SeriesPoint[] }[];
}

/** A time: the last milliseconds, or from then to then. */
export type Span = { last: number } | { from: number; to: number };

export interface Question {
  /** What is wanted, out of the list of what there is: series that are not there (yet) are not asked for. */
  wanted(list: SeriesInfo[]): string[];
  span: Span;
  points: number;
}

/** Most series in a question to the server. */
const mostAsked = 16;
/** Milliseconds between questions: the shortest and the longest. */
const [soonest, latest] = [1000, 20_000];

export class HistoryFeed {
  list: SeriesList | null = null;
  private question: Question | null = null;
  private timer: number | undefined;
  /** Answers to questions before this one come too late. */
  private asked = 0;

  /** `take` gets every answer; null if there is none. */
  constructor(private readonly take: (answer: HistoryAnswer | null) => void) {
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Asks this from now on; null asks nothing. */
  ask(question: Question | null): void {
    this.question = question;
    this.look();
  }

  /** Another run has other series. */
  forget(): void {
    this.list = null;
    this.look();
  }

  /** The list of series, as new as can be. */
  async renew(): Promise<SeriesList | null> {
    try {
      const response = await fetch("/api/series.json", { cache: "no-store" });
      if (response.ok) this.list = (await response.json()) as SeriesList;
    } catch {
      // The top of the page says that there is no connection.
    }
    return this.list;
  }

  private look(): void {
    clearTimeout(this.timer);
    const number = ++this.asked;
    if (this.question && !document.hidden) void this.lookOnce(this.question, number);
  }

  private async lookOnce(question: Question, number: number): Promise<void> {
    const answer = await this.answer(question).catch(() => null);
    if (number !== this.asked) return;
    this.take(answer);
    const pause = Math.min(latest, Math.max(soonest, answer?.step_ms ?? soonest));
    this.timer = setTimeout(() => this.look(), pause);
  }

  private async answer({ wanted, span, points }: Question): Promise<HistoryAnswer | null> {
    let ids = wanted(this.list?.series ?? []);
    // A series that was not there before may be there now.
    if (ids.length === 0 || this.list === null) ids = wanted((await this.renew())?.series ?? []);
    if (ids.length === 0) return null;
    const parameters = new URLSearchParams(ids.slice(0, mostAsked).map((id) => ["series", id]));
    if ("last" in span) parameters.set("from", String(-Math.round(span.last)));
    else {
      parameters.set("from", String(Math.floor(span.from)));
      parameters.set("to", String(Math.ceil(span.to)));
    }
    parameters.set("points", String(points));
    const response = await fetch(`/api/history.json?${parameters}`, { cache: "no-store" });
    if (response.ok) return (await response.json()) as HistoryAnswer;
    // The run may be another one.
    this.list = null;
    return null;
  }
}
