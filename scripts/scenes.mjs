// What the pictures of docs/live-view.md show: a simulated detector each, what is different about it, and the view of the page.
//
// `config`: the shipped configuration. `simulate`: further arguments of `evforge simulate`. `{spot}` in them is the picture of a spot off centre. `seconds`: of beam. `hash`: the
// address of the page. `run`: further arguments of the run. `file`: true if the page is that of the file of the events: SoNDe's groups
// are told apart by their addresses, and this host has one. `prepare`: what is done on the page before the
// picture is taken. `only`: the part of the page that it has. `loses`: true if packets are to be lost. `isPart`: true if the picture
// has not all events.

/** Arguments of a run that collects monitor data from its start. */
const collects = ["--monitor", "monitor.json"];
const set = (...values) => values.flatMap((value) => ["--set", value]);

export const scenes = [
  {
    name: "view-multigrid",
    config: "trex",
    simulate: set("simulation.beam.neutrons=60kHz"),
    seconds: 12,
    hash: "view=three%20sides",
  },
  {
    name: "view-multiblade",
    config: "freia",
    simulate: set('simulation.beam.image="reflectometry"', "simulation.beam.neutrons=60kHz"),
    seconds: 12,
    hash: "view=blades",
  },
  {
    name: "view-nmx",
    config: "nmx",
    simulate: set('simulation.beam.image="diffraction"', "simulation.beam.neutrons=40kHz"),
    seconds: 12,
    hash: "view=reflections",
  },
  {
    name: "view-sonde",
    config: "sonde",
    simulate: set("simulation.beam.neutrons=100kHz"),
    seconds: 6,
    hash: "view=small%20angles",
    file: true,
  },
  {
    name: "view-beam-monitors",
    config: "beam-monitors",
    simulate: set("simulation.beam.neutrons=40kHz"),
    seconds: 8,
    hash: "view=beam&picture=monitor_2",
    isPart: true,
  },
  {
    name: "view-line-up",
    config: "gdgem-srs",
    simulate: set('simulation.beam.image={png="{spot}"}', "simulation.beam.neutrons=40kHz"),
    seconds: 8,
    hash: "view=line-up",
  },
  {
    name: "view-thresholds",
    config: "gdgem-srs",
    simulate: set("simulation.electronics.noise=60kHz", "simulation.beam.neutrons=10kHz"),
    seconds: 12,
    hash: "view=thresholds",
    run: [...collects, ...set("gdgem.clustering.x.adc_threshold=60", "gdgem.clustering.y.adc_threshold=60")],
    height: 1400,
    only: "#monitor-panel",
    // The amplitudes of a channel in the beam.
    prepare: async (page) => {
      await page.click("#monitor-logarithmic");
      const { left, top } = await page.evaluate(() => {
        const box = document.getElementById("channels").getBoundingClientRect();
        const bar = window.evforge.channelBar(40);
        return { left: box.left + bar.left, top: box.top + bar.top };
      });
      await page.mouse.click(left, top);
      await page.mouse.move(0, 0);
      await page.waitForTimeout(300);
    },
  },
  {
    name: "view-dead-channels",
    config: "multigrid",
    simulate: set('simulation.beam.image="flat"', "simulation.electronics.dead_channels=0.02", "simulation.beam.neutrons=100kHz"),
    seconds: 12,
    hash: "view=dead%20channels",
    run: collects,
    height: 1300,
  },
  {
    name: "view-run",
    config: "freia",
    simulate: ["--fault", "lose:probability=0.002", ...set("simulation.beam.neutrons=60kHz")],
    seconds: 30,
    hash: "view=run",
    loses: true,
  },
];
