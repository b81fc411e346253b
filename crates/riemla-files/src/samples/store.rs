//! An append-only log of draws that a kill at any point cannot damage.
//!
//! The log is a header (which run it belongs to) and one record per draw, each with its length
//! and checksum, synced to the disk before [`SampleStore::append`] returns. A record that was
//! being written when the process died is incomplete and cut off at the next start; damage in the
//! middle costs the records it touches and no others, and is reported ([`SampleStore::damaged_bytes`]).
//! docs/formats.md has the layout and why it is a log.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use riemla::posterior::Draw;

use super::{RunInfo, SAMPLES_FILE, SavedSamples, decode_draw, encode_draw, read_samples};
use crate::atomic::{parent, sync_directory};
use crate::checksum::damaged;
use crate::error::name;
use crate::identity::expect;
use crate::json::parse_json;
use crate::locks::Attempt;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"RIEMLOG1";
const MARKER: &[u8; 8] = b"\xd7draw\xe2\x0d\x0a";
/// Marker, length of the payload (u32), checksum of the payload (u32).
const FRAME: u64 = 16;
/// Most bytes of JSON in a record or header.
const MAX_JSON: u64 = 1 << 16;

/// A log of draws, open for appending. One process at a time.
#[derive(Debug)]
pub struct SampleStore {
    path: PathBuf,
    file: File,
    run: RunInfo,
    /// Place and length of each draw's payload.
    places: BTreeMap<u64, (u64, usize)>,
    /// End of the header.
    start: u64,
    /// End of the last complete record.
    end: u64,
    damaged: u64,
    /// Why it is not locked, in words.
    unlocked: Option<String>,
}

impl SampleStore {
    /// Opens the log of a run, or begins it. A log of another run is an error that says what
    /// differs. An incomplete record at the end is cut off.
    pub fn open(path: &Path, run: &RunInfo) -> Result<Self> {
        let text = name(path);
        let header = header_bytes(run);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(Error::io(&text, "open it"))?;
        let unlocked = Attempt::from(file.try_lock()).checked(path)?;
        let action = "read the draws in it";
        let length = file.metadata().map_err(Error::io(&text, action))?.len();
        if length < header.len() as u64 && is_prefix(&mut file, &header).map_err(Error::io(&text, action))? {
            // New, or killed while it was begun: there are no draws yet.
            begin(&mut file, &header).map_err(Error::io(&text, "write it"))?;
            sync_directory(parent(path));
        }
        let length = file.metadata().map_err(Error::io(&text, action))?.len();
        let start = check_header(&mut file, &text, length, run)?;
        let mut store = Self {
            path: path.into(),
            file,
            run: run.clone(),
            places: BTreeMap::new(),
            start,
            end: start,
            damaged: 0,
            unlocked,
        };
        store.scan(start, length).map_err(Error::io(&text, action))?;
        if store.end < length {
            store.file.set_len(store.end).map_err(Error::io(&text, "remove an incomplete draw from it"))?;
        }
        Ok(store)
    }

    /// As [`SampleStore::open`]; a new log begins with the draws of the finished set in `set`, if there is
    /// one of the same run.
    pub fn continue_set(path: &Path, set: &Path, run: &RunInfo) -> Result<Self> {
        let finished = set.join(SAMPLES_FILE);
        let before = if !path.exists() && finished.exists() {
            let SavedSamples { run: found, draws } = read_samples(set)?;
            expect(&name(&finished), &found, run)?;
            draws
        } else {
            Vec::new()
        };
        let mut store = Self::open(path, run)?;
        before.iter().try_for_each(|draw| store.append(draw))?;
        Ok(store)
    }

    /// Adds a draw. When this returns, the draw survives a crash. A draw that is already there is
    /// left alone. After an error the log is as before.
    pub fn append(&mut self, draw: &Draw) -> Result<()> {
        if self.places.contains_key(&draw.index) {
            return Ok(());
        }
        let text = name(&self.path);
        if draw.theta.len() != self.run.dim {
            let error = riemla::Error::shape("weights of a draw", self.run.dim, draw.theta.len());
            return Err(Error::content(&text)(error));
        }
        let payload = encode_draw(draw).map_err(Error::json(&text))?;
        let Ok(length) = u32::try_from(payload.len()) else {
            let message = "a draw of more than 4 GiB cannot be stored".into();
            return Err(Error::content(&text)(riemla::Error::Unsupported(message)));
        };
        let mut record = Vec::with_capacity(FRAME as usize + payload.len());
        record.extend(MARKER);
        record.extend(length.to_le_bytes());
        record.extend(crc32fast::hash(&payload).to_le_bytes());
        record.extend(payload);
        let end = self.end;
        let written = write_at(&mut self.file, end, &record);
        if let Err(error) = written {
            // The next record would begin here in any case; this keeps the file tidy.
            let _ = self.file.set_len(end);
            return Err(Error::io(&text, "add a draw to it")(error));
        }
        self.places.insert(draw.index, (end + FRAME, length as usize));
        self.end = end + record.len() as u64;
        Ok(())
    }

    /// Removes all draws.
    pub fn clear(&mut self) -> Result<()> {
        let removed = self.file.set_len(self.start).and_then(|()| self.file.sync_data());
        removed.map_err(Error::io(&name(&self.path), "remove the draws in it"))?;
        self.places.clear();
        self.end = self.start;
        Ok(())
    }

    /// Number of draws.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no draws yet.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The run the draws belong to.
    pub fn run(&self) -> &RunInfo {
        &self.run
    }

    /// Bytes of damaged records found when the log was opened. A record at the end that was never
    /// finished is none of them: that is what a kill leaves.
    pub fn damaged_bytes(&self) -> u64 {
        self.damaged
    }

    /// Why nothing keeps a second process from writing to it, in words: on file systems without locks.
    pub fn unlocked(&self) -> Option<&str> {
        self.unlocked.as_deref()
    }

    /// Indices below `count` that are not there yet, ascending.
    pub fn missing(&self, count: u64) -> Vec<u64> {
        (0..count).filter(|index| !self.places.contains_key(index)).collect()
    }

    /// All draws, by index.
    pub fn read_all(&mut self) -> Result<Vec<Draw>> {
        let text = name(&self.path);
        let mut draws = Vec::with_capacity(self.places.len());
        for (start, length) in self.places.values() {
            let payload =
                read_at(&mut self.file, *start, *length).map_err(Error::io(&text, "read a draw"))?;
            let draw = decode_draw(&payload, self.run.dim);
            draws.push(draw.ok_or_else(|| Error::format(&text, "draws", "it changed while it was open"))?);
        }
        Ok(draws)
    }

    /// Finds all complete records from `start` to `length`.
    fn scan(&mut self, start: u64, length: u64) -> io::Result<()> {
        let mut at = start;
        while let Some(place) = next_marker(&mut self.file, at, length)? {
            at = match self.record_at(place, length)? {
                Some((index, size)) => {
                    self.places.entry(index).or_insert((place + FRAME, size));
                    self.damaged += place - self.end;
                    self.end = place + FRAME + size as u64;
                    self.end
                }
                None => place + 1,
            };
        }
        if !self.is_unfinished(length)? {
            self.damaged += length - self.end;
        }
        Ok(())
    }

    /// Whether what follows the last complete record is the beginning of one more.
    fn is_unfinished(&mut self, length: u64) -> io::Result<bool> {
        let rest = length - self.end;
        let frame = read_at(&mut self.file, self.end, rest.min(FRAME) as usize)?;
        let begins = frame.iter().zip(MARKER).all(|(byte, expected)| byte == expected);
        Ok(begins && (rest < FRAME || rest < FRAME + u64::from(word(&frame[8..12]))))
    }

    /// Index and payload length of the record at `place`, if it is complete and undamaged.
    fn record_at(&mut self, place: u64, length: u64) -> io::Result<Option<(u64, usize)>> {
        let weights = 8 * self.run.dim as u64;
        if place + FRAME > length {
            return Ok(None);
        }
        let frame = read_at(&mut self.file, place + 8, 8)?;
        let (size, crc) = (u64::from(word(&frame[..4])), word(&frame[4..]));
        let fits = (weights + 4..=weights + 4 + MAX_JSON).contains(&size) && place + FRAME + size <= length;
        if !fits {
            return Ok(None);
        }
        let payload = read_at(&mut self.file, place + FRAME, size as usize)?;
        if crc32fast::hash(&payload) != crc {
            return Ok(None);
        }
        Ok(decode_draw(&payload, self.run.dim).map(|draw| (draw.index, payload.len())))
    }
}

/// What a log holds, without changing it.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSummary {
    /// The run the draws belong to.
    pub run: RunInfo,
    /// Number of complete draws.
    pub draws: usize,
    /// Their indices, ascending.
    pub indices: Vec<u64>,
    /// Bytes of damaged records.
    pub damaged_bytes: u64,
}

/// Looks into a log that may be of any run, and may be written to by another process.
pub fn inspect_log(path: &Path) -> Result<LogSummary> {
    let text = name(path);
    let action = "read the draws in it";
    let mut file = File::open(path).map_err(Error::io(&text, action))?;
    let length = file.metadata().map_err(Error::io(&text, action))?.len();
    let (run, start) = read_header(&mut file, &text, length)?;
    let mut store = SampleStore {
        path: path.into(),
        file,
        run,
        places: BTreeMap::new(),
        start,
        end: start,
        damaged: 0,
        unlocked: None,
    };
    store.scan(start, length).map_err(Error::io(&text, action))?;
    let indices = store.places.keys().copied().collect();
    Ok(LogSummary { draws: store.len(), indices, damaged_bytes: store.damaged, run: store.run })
}

/// Magic, length and checksum of the JSON, the JSON.
fn header_bytes(run: &RunInfo) -> Vec<u8> {
    let json = serde_json::to_vec(run).unwrap_or_default();
    let mut header = MAGIC.to_vec();
    header.extend((json.len() as u32).to_le_bytes());
    header.extend(crc32fast::hash(&json).to_le_bytes());
    header.extend(json);
    header
}

/// Reads the header; returns the run and where the header ends.
fn read_header(file: &mut File, text: &str, length: u64) -> Result<(RunInfo, u64)> {
    let invalid = |problem: &'static str| {
        damaged(
            text,
            problem,
            "remove it and run the same command again: it continues from the finished set next to it, if \
             there is one",
        )
    };
    let action = "read the draws in it";
    if length < FRAME {
        return Err(invalid("its header is incomplete"));
    }
    let frame = read_at(file, 0, FRAME as usize).map_err(Error::io(text, action))?;
    if !frame.starts_with(MAGIC) {
        return Err(invalid("it has the wrong magic bytes"));
    }
    let (size, crc) = (u64::from(word(&frame[8..12])), word(&frame[12..]));
    if size > MAX_JSON || FRAME + size > length {
        return Err(invalid("its header is incomplete"));
    }
    let json = read_at(file, FRAME, size as usize).map_err(Error::io(text, action))?;
    if crc32fast::hash(&json) != crc {
        return Err(invalid("its header is damaged"));
    }
    Ok((parse_json(text, &json)?, FRAME + size))
}

/// Checks that the header is of the run; returns where it ends.
fn check_header(file: &mut File, text: &str, length: u64, run: &RunInfo) -> Result<u64> {
    let (found, end) = read_header(file, text, length)?;
    expect(text, &found, run).map(|()| end)
}

/// The next place from `at` on where the marker stands.
fn next_marker(file: &mut File, mut at: u64, length: u64) -> io::Result<Option<u64>> {
    const CHUNK: u64 = 1 << 16;
    while at + 8 <= length {
        // The usual case first: the marker is right here.
        let size = if read_at(file, at, 8)? == MARKER { 8 } else { CHUNK.min(length - at) };
        let chunk = read_at(file, at, size as usize)?;
        if let Some(offset) = chunk.windows(8).position(|window| window == MARKER) {
            return Ok(Some(at + offset as u64));
        }
        at += size - 7;
    }
    Ok(None)
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn read_at(file: &mut File, place: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(place))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn write_at(file: &mut File, place: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(place))?;
    file.write_all(bytes)?;
    file.sync_data()
}

fn is_prefix(file: &mut File, header: &[u8]) -> io::Result<bool> {
    let length = file.metadata()?.len() as usize;
    Ok(header.starts_with(&read_at(file, 0, length)?))
}

fn begin(file: &mut File, header: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    write_at(file, 0, header)
}
