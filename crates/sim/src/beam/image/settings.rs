//! `simulation.beam.image`: which picture is in the beam.

use super::diffraction::DiffractionSettings;
use super::reflectometry::ReflectometrySettings;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::path::{Path, PathBuf};

/// The picture in the beam.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ImageSettings {
    /// `"mask"`: the built-in picture, a letter F, a fainter cross and a small square.
    #[default]
    Mask,
    /// `"flat"`: all pixels alike.
    Flat,
    /// `{ png = "file.png" }`: grey levels are intensities. The file is found from the folder of the configuration.
    Png(PathBuf),
    /// `"diffraction"` or `{ diffraction = { … } }`.
    Diffraction(DiffractionSettings),
    /// `"reflectometry"` or `{ reflectometry = { … } }`.
    Reflectometry(ReflectometrySettings),
}

impl ImageSettings {
    /// Takes the name of a file as seen from this folder.
    pub fn relative_to(&mut self, folder: &Path) {
        if let Self::Png(path) = self {
            *path = folder.join(&*path);
        }
    }
}

/// What a table can say.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Table {
    Png(PathBuf),
    Diffraction(DiffractionSettings),
    Reflectometry(ReflectometrySettings),
}

evforge_core::written_as! {
    ImageSettings: |generator| schemars::json_schema!({
        "anyOf": [{ "enum": ["mask", "flat", "diffraction", "reflectometry"] }, generator.subschema_for::<Table>()],
    });
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = ImageSettings;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "\"mask\", \"flat\", \"diffraction\", \"reflectometry\", { png = \"file.png\" }, \
             { diffraction = { ... } } or { reflectometry = { ... } }",
        )
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<ImageSettings, E> {
        match name {
            "mask" => Ok(ImageSettings::Mask),
            "flat" => Ok(ImageSettings::Flat),
            "diffraction" => Ok(ImageSettings::Diffraction(DiffractionSettings::default())),
            "reflectometry" => Ok(ImageSettings::Reflectometry(ReflectometrySettings::default())),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ImageSettings, A::Error> {
        Ok(match Table::deserialize(MapAccessDeserializer::new(map))? {
            Table::Png(path) => ImageSettings::Png(path),
            Table::Diffraction(settings) => ImageSettings::Diffraction(settings),
            Table::Reflectometry(settings) => ImageSettings::Reflectometry(settings),
        })
    }
}

impl<'de> Deserialize<'de> for ImageSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}
