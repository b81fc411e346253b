//! Heat maps as small palette PNGs inside `data:` addresses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::palette::HEAT_HUES;

/// Which class is predicted, and how surely: 0 undecided, 1 certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    pub class: usize,
    pub certainty: f64,
}

/// Opacity of a certain prediction. Below 1 so that points of the same class stand out.
const FULL: f64 = 0.8 * 255.0;

/// Palette index of pixels without a value.
const MISSING: u8 = 0;

/// Palette steps that each class gets of the 255 beside [`MISSING`].
fn levels(classes: usize) -> usize {
    255 / classes.clamp(1, HEAT_HUES.len())
}

fn palette(classes: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut rgb, mut alpha) = (vec![128; 3], vec![90]);
    for hue in HEAT_HUES.iter().take(classes.max(1)) {
        for level in 0..levels(classes) {
            rgb.extend(hue);
            alpha.push((FULL * level as f64 / (levels(classes) - 1) as f64).round() as u8);
        }
    }
    (rgb, alpha)
}

fn index(belief: Option<Belief>, classes: usize) -> u8 {
    let Some(Belief { class, certainty }) = belief.filter(|b| b.certainty.is_finite()) else {
        return MISSING;
    };
    let steps = levels(classes);
    let level = (certainty.clamp(0.0, 1.0) * (steps - 1) as f64).round() as usize;
    (1 + (class % classes.clamp(1, HEAT_HUES.len())) * steps + level) as u8
}

/// Encodes rows from top to bottom as a PNG of `width` × (number of beliefs / `width`) pixels.
pub(crate) fn encode(
    width: usize,
    beliefs: &[Option<Belief>],
    classes: usize,
) -> Result<Vec<u8>, png::EncodingError> {
    let pixels: Vec<u8> = beliefs.iter().map(|b| index(*b, classes)).collect();
    let (rgb, alpha) = palette(classes);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, (beliefs.len() / width.max(1)) as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.set_palette(rgb);
    encoder.set_trns(alpha);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// The image as an address for `<image href>`; `None` where there is nothing to encode.
pub(crate) fn data_address(width: usize, beliefs: &[Option<Belief>], classes: usize) -> Option<String> {
    let bytes = encode(width, beliefs, classes).ok()?;
    Some(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> (png::OutputInfo, Vec<u8>) {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("header");
        let mut pixels = vec![0; reader.output_buffer_size().expect("small image")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        (info, pixels)
    }

    #[test]
    fn images_decode_to_hue_and_opacity() {
        let belief = |class, certainty| Some(Belief { class, certainty });
        let beliefs =
            [belief(0, 1.0), belief(1, 0.0), belief(1, 0.5), None, belief(0, f64::NAN), belief(1, 7.0)];
        let (info, pixels) = decode(&encode(3, &beliefs, 2).expect("encodes"));
        assert_eq!((info.width, info.height, info.color_type), (3, 2, png::ColorType::Rgba));
        let pixel = |i: usize| &pixels[4 * i..4 * i + 4];
        assert_eq!(pixel(0), [HEAT_HUES[0][0], HEAT_HUES[0][1], HEAT_HUES[0][2], 204]);
        assert_eq!(pixel(1)[3], 0);
        assert!((i32::from(pixel(2)[3]) - 102).abs() <= 1);
        assert_eq!(pixel(3), [128, 128, 128, 90]);
        assert_eq!(pixel(4), pixel(3));
        assert_eq!(pixel(5)[..3], HEAT_HUES[1]);
    }

    #[test]
    fn a_smooth_map_is_a_few_kilobytes() {
        let beliefs: Vec<_> = (0..10_000)
            .map(|i| {
                Some(Belief {
                    class: 0,
                    certainty: ((i % 100) as f64 / 16.0).sin().abs() * (i / 100) as f64 / 100.0,
                })
            })
            .collect();
        assert!(encode(100, &beliefs, 2).expect("encodes").len() < 12_000);
    }

    #[test]
    fn nothing_to_encode_is_none() {
        assert_eq!(data_address(0, &[], 2), None);
    }
}
