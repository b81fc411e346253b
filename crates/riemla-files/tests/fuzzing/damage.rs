//! Ways to damage a file: changed bits, lengths and tokens, pieces cut, repeated and mixed, or noise.

/// A stream of numbers that depends on the case alone (SplitMix64).
pub struct Damage(u64);

/// Text that readers of text may stumble over.
const TOKENS: [&str; 20] = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e999",
    "18446744073709551615",
    "9223372036854775808",
    "4294967295",
    "0.5",
    "null",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\n",
    "=",
    "\u{feff}",
];

impl Damage {
    /// The damage of a case.
    pub fn new(case: u64) -> Self {
        Self(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// One of the valid files, damaged; now and then nothing but noise.
    pub fn input(&mut self, valid: &[Vec<u8>]) -> Vec<u8> {
        if self.below(16) == 0 {
            let noise = (0..self.below(300)).map(|_| self.next() as u8).collect::<Vec<_>>();
            let file = self.pick(valid);
            // Half of the noise begins like a real file, so that it gets past the first check.
            let start = if self.below(2) == 0 { self.below(file.len().min(16)) } else { 0 };
            return [&file[..start], &noise].concat();
        }
        let mut bytes = self.pick(valid).to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, valid);
        }
        bytes
    }

    fn pick<'a>(&mut self, valid: &'a [Vec<u8>]) -> &'a [u8] {
        let i = self.below(valid.len());
        valid.get(i).map_or(&[], Vec::as_slice)
    }

    fn change(&mut self, bytes: &mut Vec<u8>, valid: &[Vec<u8>]) {
        let at = self.below(bytes.len());
        match self.below(9) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            2 if !bytes.is_empty() => bytes[at] = self.next() as u8,
            3 => bytes.truncate(at),
            4 => self.overwrite_length(bytes, at),
            5 => {
                // A piece of a valid file in place of, or between, other bytes.
                let other = self.pick(valid);
                let from = self.below(other.len());
                let piece = &other[from..(from + self.below(64)).min(other.len())];
                let end = if self.below(2) == 0 { (at + piece.len()).min(bytes.len()) } else { at };
                bytes.splice(at..end, piece.iter().copied());
            }
            6 => {
                let end = (at + self.below(32)).min(bytes.len());
                bytes.drain(at..end);
            }
            7 => {
                let token = TOKENS[self.below(TOKENS.len())];
                let end = (at + self.below(12)).min(bytes.len());
                bytes.splice(at..end, token.bytes());
            }
            _ => {
                let piece = bytes[at..(at + self.below(64)).min(bytes.len())].repeat(1 + self.below(4));
                bytes.splice(at..at, piece);
            }
        }
    }

    /// Puts a number where a length may be: small, huge, negative, or near the file's own.
    fn overwrite_length(&mut self, bytes: &mut [u8], at: usize) {
        let length = bytes.len() as u64;
        let values = [0, 1, 127, 128, 255, 65_535, 1 << 31, u64::from(u32::MAX), u64::MAX, 1 << 62, 1 << 40];
        let value = match self.below(3) {
            0 => length.wrapping_add(self.next() % 5).wrapping_sub(2),
            1 => self.next() >> self.below(64),
            _ => values[self.below(values.len())],
        };
        let little = self.below(4) > 0;
        let width = 1 << self.below(4);
        let encoded =
            if little { value.to_le_bytes() } else { value.rotate_left(64 - 8 * width as u32).to_be_bytes() };
        let encoded = if self.below(3) == 0 { varint(value) } else { encoded[..width].to_vec() };
        bytes.copy_from_slice(&overwritten(bytes, at, &encoded));
    }
}

/// A copy with other bytes at a place.
pub fn overwritten(bytes: &[u8], at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let end = (at + with.len()).min(bytes.len());
    bytes[at..end].copy_from_slice(&with[..end - at]);
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
