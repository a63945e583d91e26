//! The paths of pictures and spectra.

use super::route::{Answer, Content, Method, Parameter, Route};
use crate::look_handlers;
use axum::routing::on;

const PICTURE: Parameter = Parameter {
    name: "picture",
    meaning: "which picture; encoded as usual in addresses (`monitor%201`)",
    range: "a `name` of `pictures` in the greeting: `xy`, `monitor_1`, `x-tof`",
    default: "the first one",
};
const PART: Parameter = Parameter {
    name: "part",
    meaning: "only this part: left, bottom, right, top in pixels, the latter two the first ones beyond",
    range: "`x0,y0,x1,y1` within the picture",
    default: "all",
};
const POINTS: Parameter = Parameter {
    name: "points",
    meaning: "the most columns and rows: where there are more pixels, neighbours are added up",
    range: "`columns,rows`, 16 to 4096 each",
    default: "every pixel",
};
const SLICE: Parameter = Parameter {
    name: "slice_ns",
    meaning: "only events whose time of flight in nanoseconds is at least the first and below the second number",
    range: "`from,to`",
    default: "all",
};
const LAYERS: Parameter = Parameter {
    name: "layers",
    meaning: "only pixels from the first to below the second number along the axis that the picture does not show: layers of xy, rows of xz, columns of yz",
    range: "`from,to`, at most the `depth` of the picture",
    default: "all",
};
const WINDOW: Parameter = Parameter {
    name: "window",
    meaning: "only events of this time: all, those of the last seconds, or those since a moment in milliseconds since the Unix epoch",
    range: "`all`, `last:1` to `last:3600`, `since:MILLISECONDS`",
    default: "all",
};
const VETOED: Parameter = Parameter {
    name: "vetoed",
    meaning: "only events without a veto, or with one",
    range: "`all`, `accepted`, `vetoed`",
    default: "all",
};
const PERIOD: Parameter = Parameter {
    name: "period",
    meaning: "only events of frames of this period, where the readout tells frames",
    range: "a number from 1",
    default: "all",
};
const FRAMES: Parameter = Parameter {
    name: "frames",
    meaning: "only events of frames without a veto that counts, or with one",
    range: "`all`, `good`, `vetoed`",
    default: "all",
};
const COMPLETE: Parameter = Parameter {
    name: "complete",
    meaning: "whether only events of frames that are known to be complete",
    range: "`true`, `false`",
    default: "`false`",
};
const BINS: Parameter = Parameter {
    name: "bins",
    meaning: "bins of time of flight: beginning of the first one and width in nanoseconds, and how many",
    range: "`from,width,count`, at most 10 000; of a map fewer, if it has more than 100 rows and a million cells",
    default: "those of the greeting",
};
const REGION: Parameter = Parameter {
    name: "region",
    meaning: "a region with a spectrum of its own: name, shape, corners in pixels of the picture; up to 16 times",
    range: "`NAME;rectangle;x0,y0;x1,y1` or `NAME;polygon;x,y;x,y;x,y`",
    default: "none",
};
const LOOK: Parameter = Parameter {
    name: "look",
    meaning: "what is wanted, as an object",
    range: "a `LookWanted` in JSON",
    default: "the first picture of everything",
};

const OF_IMAGE: Option<&[Parameter]> =
    Some(&[PICTURE, PART, POINTS, SLICE, LAYERS, WINDOW, VETOED, PERIOD, FRAMES, COMPLETE, BINS]);
const OF_SPECTRUM: Option<&[Parameter]> =
    Some(&[PICTURE, SLICE, LAYERS, WINDOW, VETOED, PERIOD, FRAMES, COMPLETE, BINS, REGION]);

const UNKNOWN: Answer = Answer::words(404, "no picture has this name; the answer lists those there are");
const WRONG: Answer =
    Answer::words(400, "a parameter is not as it should be; the answer says which, and what would be right");

/// A path that answers with a look in some form.
const fn of_look(
    path: &'static str,
    purpose: &'static str,
    parameters: Option<&'static [Parameter]>,
    content: Content,
    answers: &'static [Answer],
) -> Route {
    Route {
        method: Method::Get,
        path,
        changes: false,
        body: None,
        purpose,
        parameters,
        content,
        answers,
        example: ("", ""),
        handler: |method| on(method, look_handlers::image_json),
    }
}

const JSON: &[Answer] = &[Answer::json("there is such a picture"), WRONG, UNKNOWN];
const CSV: &[Answer] = &[
    Answer { status: 200, content_type: "text/csv; charset=utf-8", when: "there is such a picture" },
    WRONG,
    UNKNOWN,
];
const BINARY: &[Answer] = &[
    Answer { status: 200, content_type: "application/octet-stream", when: "there is such a picture" },
    WRONG,
    UNKNOWN,
];
const PNG: &[Answer] =
    &[Answer { status: 200, content_type: "image/png", when: "there is such a picture" }, WRONG, UNKNOWN];

/// Images, spectra and looks, in the order of the document.
pub(super) const LOOKS: &[Route] = &[
    Route {
        example: ("api/image.json?picture=xy", ""),
        handler: |method| on(method, look_handlers::image_json),
        ..of_look(
            "/api/image.json",
            "The counts of a picture.",
            OF_IMAGE,
            Content::Object("ImageCounts"),
            JSON,
        )
    },
    Route {
        example: ("api/image.csv?slice_ns=10000000,20000000", ""),
        handler: |method| on(method, look_handlers::image_csv),
        ..of_look(
            "/api/image.csv",
            "The same for spreadsheets.",
            OF_IMAGE,
            Content::Other("lines of column, row and counts, row by row from the bottom"),
            CSV,
        )
    },
    Route {
        example: ("api/image.npy?window=last:10", " --output image.npy"),
        handler: |method| on(method, look_handlers::image_npy),
        ..of_look(
            "/api/image.npy",
            "The same for NumPy.",
            OF_IMAGE,
            Content::Other("an array of rows (from the bottom) of counts, unsigned integers of 64 bits"),
            BINARY,
        )
    },
    Route {
        example: ("api/image.png", " --output image.png"),
        handler: |method| on(method, look_handlers::image_png),
        ..of_look(
            "/api/image.png",
            "The same for people, with axes and a colour bar.",
            OF_IMAGE,
            Content::Other("a picture in equal ratios of colour"),
            PNG,
        )
    },
    Route {
        example: ("api/spectrum.json", ""),
        handler: |method| on(method, look_handlers::spectrum_json),
        ..of_look(
            "/api/spectrum.json",
            "The spectrum of times of flight of a picture, and of regions of it.",
            OF_SPECTRUM,
            Content::Object("SpectrumCounts"),
            JSON,
        )
    },
    Route {
        example: ("api/spectrum.csv?region=beam;rectangle;1,1;3,3", ""),
        handler: |method| on(method, look_handlers::spectrum_csv),
        ..of_look(
            "/api/spectrum.csv",
            "The same for spreadsheets.",
            OF_SPECTRUM,
            Content::Other(
                "lines of the beginning and the end of a bin, counts of the picture and of each region",
            ),
            CSV,
        )
    },
    Route {
        example: ("api/spectrum.npy", " --output spectrum.npy"),
        handler: |method| on(method, look_handlers::spectrum_npy),
        ..of_look(
            "/api/spectrum.npy",
            "The same for NumPy.",
            OF_SPECTRUM,
            Content::Other(
                "an array of spectra (that of the picture, then those of the regions) of counts, unsigned integers of 64 bits",
            ),
            BINARY,
        )
    },
    Route {
        example: ("api/spectrum.png?region=beam;rectangle;1,1;3,3", " --output spectrum.png"),
        handler: |method| on(method, look_handlers::spectrum_png),
        ..of_look(
            "/api/spectrum.png",
            "The same for people: lines with axes, the regions in the colours of the page.",
            OF_SPECTRUM,
            Content::Other("a picture of the lines"),
            PNG,
        )
    },
    Route {
        example: ("api/look.bin", " --output look.bin"),
        handler: |method| on(method, look_handlers::look_bin),
        ..of_look(
            "/api/look.bin",
            "A look as browsers get it: smaller and faster to read than JSON.",
            Some(&[LOOK]),
            Content::Other("a [frame of a look](#frames-of-looks)"),
            BINARY,
        )
    },
];
