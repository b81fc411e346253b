//! Published tables in the form of ours: with a header, classes counted from 0 in the last column.

/// Tables at public addresses, one after the other, that make a file of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// Where they are, in their order.
    pub urls: &'static [&'static str],
    /// First line of ours.
    pub header: &'static str,
    /// Columns at the beginning that are left out.
    pub skip: usize,
    /// Their names of the classes 0, 1, …
    pub labels: &'static [&'static str],
}

impl Tables {
    /// The file from the contents of the addresses. Numbers keep their digits, so that it has one checksum.
    pub fn csv(&self, contents: &[Vec<u8>]) -> Result<Vec<u8>, String> {
        let mut csv = format!("{}\n", self.header);
        for content in contents {
            let text = std::str::from_utf8(content).map_err(|_| "it is not text".to_string())?;
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                csv += &self
                    .line(line)
                    .ok_or_else(|| format!("the line `{line}` does not belong to this table"))?;
            }
        }
        Ok(csv.into_bytes())
    }

    fn line(&self, line: &str) -> Option<String> {
        let separator = |c: char| c == ',' || c.is_whitespace();
        let fields: Vec<&str> = line.split(separator).filter(|field| !field.is_empty()).collect();
        let (label, values) = fields.split_last()?;
        let class = self.labels.iter().position(|name| name == label)?;
        Some(format!("{},{class}\n", values.get(self.skip..)?.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: Tables = Tables {
        urls: &["https://example.invalid/a", "https://example.invalid/b"],
        header: "x,y,label",
        skip: 1,
        labels: &["bus", "van"],
    };

    #[test]
    fn lines_get_a_header_and_their_classes_numbers() {
        let made = TABLES.csv(&[b"1,0.50,-1.10,van\n\n".to_vec(), b"2 3 4.0 bus \r\n".to_vec()]);
        assert_eq!(made.expect("converts"), b"x,y,label\n0.50,-1.10,1\n3,4.0,0\n");
    }

    #[test]
    fn what_is_not_the_table_is_said() {
        for page in ["<html>moved</html>", "1,2,3,tram", "van"] {
            let error = TABLES.csv(&[page.as_bytes().to_vec()]).map(|_| ()).unwrap_err();
            assert!(page == "van" || error.contains(page), "{error}");
        }
        assert!(TABLES.csv(&[vec![0xff, 0xfe]]).is_err());
    }
}
