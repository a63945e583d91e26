//! The one place where producers are made.

use crate::client::{ClientError, ClientSettings, explain_error};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, ProducerContext};

/// What a producer is set to, unless the settings say otherwise. Each message arrives once, in its order, and is confirmed by all.
const SENDING: [(&str, &str); 3] = [("enable.idempotence", "true"), ("acks", "all"), ("linger.ms", "5")];

/// What a producer is set to: by the settings, then by these defaults, then by what holds for all.
///
/// # Errors
/// If the settings are wrong.
pub(crate) fn config(
    settings: &ClientSettings,
    defaults: &[(&str, &str)],
) -> Result<ClientConfig, ClientError> {
    settings.config(&[&SENDING, defaults].concat())
}

/// A producer.
///
/// # Errors
/// If librdkafka refuses what it is set to.
pub(crate) fn producer<C: ProducerContext>(
    config: &ClientConfig,
    context: C,
) -> Result<BaseProducer<C>, ClientError> {
    let made = config.create_with_context(context);
    made.map_err(|error| ClientError::settings(explain_error(&error).sentence()))
}
