//! The answers to requests for a picture or a spectrum.

use crate::answers::{ImageCounts, RegionCounts, SpectrumCounts};
use crate::at_work::at_work;
use crate::exports;
use crate::handlers::{Server, json};
use crate::look_frame::{LookFrame, LookHead};
use crate::looks::look::Look;
use crate::looks::{asked, shown};
use crate::page::{plain, with_type};
use crate::shared::Shared;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, Uri};
use evforge_core::quantity::grouped;
use evforge_picture::{Caption, Curve, LineChart, PictureError, Sheet, dates_text};

/// What is asked, counted now.
async fn counted(server: &Server, uri: &Uri, is_exact: bool) -> Result<(Look, LookFrame), Response<Body>> {
    let shared = &server.shared;
    let mut look = asked::look(uri, &shared.pictured).map_err(|problem| {
        let is_unknown = problem.starts_with("picture:");
        let status = if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        plain(status, format!("{problem}\n"))
    })?;
    if is_exact && !uri.query().unwrap_or_default().contains("points") {
        // A script gets every pixel, unless it wants fewer numbers.
        look.points = [u32::MAX; 2];
    }
    let failed = |error: String| plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"));
    let _at_work = shared.at_work.acquire().await.map_err(|error| failed(error.to_string()))?;
    // All kept events are read, which may take its time: pictures go on meanwhile.
    let (shared, wanted) = (shared.clone(), look.clone());
    let frame = at_work(move || shown::look_once(&shared, &wanted)).await;
    Ok((look, frame.map_err(|error| failed(error.to_string()))?))
}

macro_rules! answer {
    ($name:ident, $is_exact:literal, $make:expr) => {
        pub(crate) async fn $name(State(server): State<Server>, uri: Uri) -> Response<Body> {
            let make: fn(&Shared, Look, LookFrame) -> Response<Body> = $make;
            match counted(&server, &uri, $is_exact).await {
                Ok((look, frame)) => make(&server.shared, look, frame),
                Err(refusal) => refusal,
            }
        }
    };
}

answer!(image_json, true, |_, _, frame| json(&image_counts(frame)));
answer!(image_csv, true, |_, _, frame| csv(exports::image_csv(&frame)));
answer!(image_npy, true, |_, _, frame| binary(exports::image_npy(&frame)));
answer!(image_png, true, |shared, look, frame| image_of(shared, &look, frame));
answer!(spectrum_json, true, |_, _, frame| json(&spectrum_counts(frame)));
answer!(spectrum_csv, true, |_, _, frame| csv(exports::spectrum_csv(&frame)));
answer!(spectrum_npy, true, |_, _, frame| binary(exports::spectrum_npy(&frame)));
answer!(spectrum_png, true, |shared, look, frame| spectrum_of(shared, &look, &frame));
answer!(look_bin, false, |_, _, frame| binary(frame.encode()));

fn csv(text: String) -> Response<Body> {
    with_type(StatusCode::OK, "text/csv; charset=utf-8", Body::from(text))
}

fn binary(bytes: impl Into<Body>) -> Response<Body> {
    with_type(StatusCode::OK, "application/octet-stream", bytes.into())
}

fn image_counts(frame: LookFrame) -> ImageCounts {
    let LookFrame { number, head, image, .. } = frame;
    ImageCounts {
        number,
        picture: head.picture,
        nx: image.nx,
        ny: image.ny,
        part: head.part,
        block: head.block,
        since_ms: head.since_ms,
        missed: head.missed,
        seconds: head.seconds,
        pulses: head.pulses,
        charge_uah: head.charge_uah,
        events: head.events,
        counts: image.counts,
    }
}

fn spectrum_counts(frame: LookFrame) -> SpectrumCounts {
    let LookFrame { head, spectrum, region_spectra, .. } = frame;
    let region = |(region, counts): (crate::look_frame::HeadRegion, Vec<u64>)| RegionCounts {
        name: region.name,
        pixels: region.pixels,
        events: region.events,
        all: region.all,
        counts,
    };
    SpectrumCounts {
        picture: head.picture,
        from_ns: head.bins.from_ns,
        bin_ns: u64::from(head.bins.width_ns),
        since_ms: head.since_ms,
        missed: head.missed,
        seconds: head.seconds,
        pulses: head.pulses,
        charge_uah: head.charge_uah,
        counts: spectrum,
        regions: head.regions.into_iter().zip(region_spectra).map(region).collect(),
    }
}

/// What stands above a picture or a spectrum of `events`.
fn caption_of(title: &str, head: &LookHead, events: u64) -> Caption {
    let mut caption = Caption { title: title.to_owned(), ..Caption::default() };
    caption.lines.push(format!("{} events in {:.1} s", grouped(events), head.seconds));
    let [from, to] = [0, (head.seconds * 1e3) as u64].map(|after| head.since_ms + after);
    caption.lines.extend(dates_text(i128::from(from) * 1_000_000, i128::from(to) * 1_000_000));
    if head.missed > 0 {
        caption.warnings.push(format!("{} events of this window are missing", grouped(head.missed)));
    }
    caption
}

/// The spectrum as a PNG: that of the picture, and those of the regions.
fn spectrum_of(shared: &Shared, look: &Look, frame: &LookFrame) -> Response<Body> {
    let LookFrame { head, spectrum, region_spectra, .. } = frame;
    let counted: u64 = spectrum.iter().sum();
    let caption = caption_of(&shared.options.title, head, counted);
    let name = shared.pictured.plan(look.selection.picture, look.selection.bins.count);
    let name = name.map_or_else(|| "all".to_owned(), |plan| plan.title.clone());
    let all = Curve { name, counts: spectrum };
    let regions = head.regions.iter().zip(region_spectra);
    let regions = regions.map(|(region, counts)| Curve { name: region.name.clone(), counts });
    // Bins need not be times: with trains they are pulses, one each.
    let (unit, label, up) = match &shared.options.content {
        Some((content, _)) => (1.0, content.across.clone(), content.up.clone()),
        None => (1e6, String::new(), "events per bin".to_owned()),
    };
    let (from, width) = (f64::from(head.bins.from_ns) / unit, f64::from(head.bins.width_ns) / unit);
    let chart = LineChart {
        caption: &caption,
        label: if label.is_empty() { format!("time of flight (ms), bins of {width} ms") } else { label },
        up,
        from,
        step: width,
        curves: std::iter::once(all).chain(regions).collect(),
    };
    png(chart.to_png())
}

fn png(drawn: Result<Vec<u8>, PictureError>) -> Response<Body> {
    match drawn {
        Ok(png) => with_type(StatusCode::OK, "image/png", Body::from(png)),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

/// The image as a PNG, in the way of the image at the end of a run.
fn image_of(shared: &Shared, look: &Look, frame: LookFrame) -> Response<Body> {
    let selection = &look.selection;
    let Some(plan) = shared.pictured.plan(selection.picture, selection.bins.count) else {
        return plain(StatusCode::NOT_FOUND, "there is no picture\n".into());
    };
    let head = &frame.head;
    let mut caption = caption_of(&shared.options.title, head, head.events);
    if let Some([from, to]) = selection.slice_ns {
        caption.lines.push(format!("time of flight {} to {} ns", grouped(from.into()), grouped(to.into())));
    }
    // Blocks that are larger than a pixel have steps of their own.
    let mut plan = plan.of_part(look.part);
    for (axis, (block, pixels)) in [&mut plan.across, &mut plan.up]
        .into_iter()
        .zip([(head.block[0], frame.image.nx), (head.block[1], frame.image.ny)])
    {
        axis.first += axis.step * 0.5 * f64::from(block - 1);
        axis.step *= f64::from(block);
        axis.pixels = pixels;
    }
    let sheet = Sheet { plans: &[plan], images: &[frame.image], caption: &caption, outside: 0 };
    png(sheet.to_png())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_says_from_when_to_when_with_the_zone() {
        let head = LookHead { since_ms: 1_774_000_000_000, seconds: 2.5, ..LookHead::default() };
        let lines = caption_of("NMX", &head, 7).lines;
        assert_eq!(lines, ["7 events in 2.5 s", "2026-03-20T09:46:40Z to 2026-03-20T09:46:42Z"]);
    }
}
