//! Which topic a name stands for: one that is deleted and made again has the same name and another id (KIP-516, Kafka 2.8).
//!
//! librdkafka knows the ids (`rd_kafka_DescribeTopics`), and its binding for Rust does not hand them on.

#![allow(unsafe_code)]

use rdkafka::ClientContext;
use rdkafka::bindings as c;
use rdkafka::client::Client;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode as Code;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::time::Duration;

/// The id of a topic: 128 bits, the upper and the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicId(i64, i64);

/// Frees what the library has made.
struct Made<T>(*mut T, unsafe extern "C" fn(*mut T));

impl<T> Made<T> {
    fn of(pointer: *mut T, free: unsafe extern "C" fn(*mut T)) -> Option<Self> {
        (!pointer.is_null()).then_some(Self(pointer, free))
    }
}

impl<T> Drop for Made<T> {
    fn drop(&mut self) {
        // SAFETY: made by the library, not null, freed by the function that belongs to it, and only here.
        unsafe { (self.1)(self.0) }
    }
}

/// The ids of topics, in the order given: none for one that is not there, and of brokers that have no ids.
///
/// # Errors
/// If the brokers do not answer within this time, or do not say it.
pub(super) fn topic_ids<C: ClientContext>(
    client: &Client<C>,
    topics: &[String],
    within: Duration,
) -> Result<Vec<Option<TopicId>>, KafkaError> {
    let failed = |code: Code| KafkaError::MetadataFetch(code);
    let names = topics.iter().map(|name| CString::new(name.as_str())).collect::<Result<Vec<_>, _>>();
    let names = names.map_err(|_| failed(Code::InvalidTopic))?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let milliseconds = c_int::try_from(within.as_millis()).unwrap_or(c_int::MAX);
    let kafka = client.native_ptr();
    // SAFETY: the client lives until this function returns. All pointers are of the library or of `names`, and not null. What is made is
    // freed in the opposite order: the event, which owns what is read from it, before the queue.
    unsafe {
        let queue =
            Made::of(c::rd_kafka_queue_new(kafka), c::rd_kafka_queue_destroy).ok_or(failed(Code::Fail))?;
        let asked = c::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
        let asked = Made::of(asked, c::rd_kafka_TopicCollection_destroy).ok_or(failed(Code::Fail))?;
        let describe = c::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options =
            Made::of(c::rd_kafka_AdminOptions_new(kafka, describe), c::rd_kafka_AdminOptions_destroy)
                .ok_or(failed(Code::Fail))?;
        // The library refuses a time of zero, and takes its own then.
        c::rd_kafka_AdminOptions_set_request_timeout(options.0, milliseconds.max(1), ptr::null_mut(), 0);
        c::rd_kafka_DescribeTopics(kafka, asked.0, options.0, queue.0);
        let event = Made::of(c::rd_kafka_queue_poll(queue.0, milliseconds), c::rd_kafka_event_destroy);
        let event = event.ok_or(failed(Code::OperationTimedOut))?;
        let code = c::rd_kafka_event_error(event.0);
        if code != c::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(failed(code.into()));
        }
        let result = c::rd_kafka_event_DescribeTopics_result(event.0);
        if result.is_null() {
            return Err(failed(Code::Fail));
        }
        let mut count = 0;
        let described = c::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        let described = if count == 0 { &[] } else { std::slice::from_raw_parts(described, count) };
        let found = |name: &CString| {
            let of_name = |one: &&*const c::rd_kafka_TopicDescription_t| {
                CStr::from_ptr(c::rd_kafka_TopicDescription_name(**one)) == name.as_c_str()
            };
            let topic = *described.iter().find(of_name)?;
            let error = c::rd_kafka_TopicDescription_error(topic);
            if !error.is_null()
                && c::rd_kafka_error_code(error) != c::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR
            {
                return None;
            }
            let id = c::rd_kafka_TopicDescription_topic_id(topic);
            let bits = (!id.is_null()).then(|| {
                TopicId(
                    c::rd_kafka_Uuid_most_significant_bits(id),
                    c::rd_kafka_Uuid_least_significant_bits(id),
                )
            });
            // Brokers without ids give zeros.
            bits.filter(|id| *id != TopicId(0, 0))
        };
        Ok(names.iter().map(found).collect())
    }
}
