//! A draw as bytes: in the log, and on the way from one process to another.

use riemla::posterior::Draw;

use super::DrawRecord;

/// Length of the JSON, the JSON (a line of `samples.jsonl`), the weights.
pub fn encode_draw(draw: &Draw) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(&DrawRecord::new(draw))?;
    let mut payload = Vec::with_capacity(4 + json.len() + 8 * draw.theta.len());
    payload.extend((json.len() as u32).to_le_bytes());
    payload.extend(json);
    draw.theta.iter().for_each(|value| payload.extend(value.to_le_bytes()));
    Ok(payload)
}

/// The draw of `dim` weights that [`encode_draw`] wrote; none if it is anything else.
pub fn decode_draw(payload: &[u8], dim: usize) -> Option<Draw> {
    let (size, rest) = payload.split_first_chunk::<4>()?;
    let (json, weights) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
    if weights.len() != 8 * dim {
        return None;
    }
    let record: DrawRecord = serde_json::from_slice(json).ok()?;
    let weights = weights.as_chunks::<8>().0;
    Some(record.into_draw(weights.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()))
}
