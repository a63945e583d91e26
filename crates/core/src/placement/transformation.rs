//! Steps from a panel to the sample.

/// One step of the way from a panel to the sample, in the words of NXtransformations.
#[derive(Clone, Debug, PartialEq)]
pub struct Transformation {
    /// The name of the key in the configuration.
    pub name: &'static str,
    /// What it does.
    pub kind: TransformationKind,
    /// Metres, or degrees (right-handed about `axis`).
    pub amount: f64,
    /// A vector of length 1.
    pub axis: [f64; 3],
}

/// What a [`Transformation`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformationKind {
    /// Moves by `amount` metres.
    Translation,
    /// Turns by `amount` degrees about the origin.
    Rotation,
}

impl Transformation {
    /// Where a place is after the step.
    pub fn apply(&self, at: [f64; 3]) -> [f64; 3] {
        let Self { axis, amount, .. } = self;
        match self.kind {
            TransformationKind::Translation => std::array::from_fn(|i| at[i] + amount * axis[i]),
            TransformationKind::Rotation => {
                let (sine, cosine) = amount.to_radians().sin_cos();
                let dot: f64 = (0..3).map(|i| axis[i] * at[i]).sum();
                let cross = [
                    axis[1] * at[2] - axis[2] * at[1],
                    axis[2] * at[0] - axis[0] * at[2],
                    axis[0] * at[1] - axis[1] * at[0],
                ];
                std::array::from_fn(|i| cosine * at[i] + sine * cross[i] + (1.0 - cosine) * dot * axis[i])
            }
        }
    }
}
