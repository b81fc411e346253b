//! Enumerations whose values have names: the same words in files, in tables and on the command line.

/// An enumeration with the name of each value: `ALL` in order, `name`, reading and writing by name.
macro_rules! named {
    ($(#[$about:meta])* pub enum $type:ident ($what:literal) {
        $($(#[$docs:meta])* $value:ident = $name:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[$docs])* #[serde(rename = $name)] $value,)*
        }

        impl $type {
            /// All, in the order of tables.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// The name used everywhere.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.into_iter().find(|known| known.name() == text);
                let known = || Self::ALL.map(Self::name).join(", ");
                found.ok_or_else(|| {
                    format!("unknown {what} {text}; the {what}s are {}", known(), what = $what)
                })
            }
        }
    };
}

pub(crate) use named;
