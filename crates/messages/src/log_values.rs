//! The union of numbers and arrays that f142 and f144 have in common.

/// Reading and writing the union with the code of one of the schemas, which must be in scope as `wire`.
macro_rules! log_values {
    () => {
        $crate::log_values::log_values! { @
            Int8 Byte ByteArgs value_as_byte ArrayByte ArrayByteArgs value_as_array_byte;
            UInt8 UByte UByteArgs value_as_ubyte ArrayUByte ArrayUByteArgs value_as_array_ubyte;
            Int16 Short ShortArgs value_as_short ArrayShort ArrayShortArgs value_as_array_short;
            UInt16 UShort UShortArgs value_as_ushort ArrayUShort ArrayUShortArgs value_as_array_ushort;
            Int32 Int IntArgs value_as_int ArrayInt ArrayIntArgs value_as_array_int;
            UInt32 UInt UIntArgs value_as_uint ArrayUInt ArrayUIntArgs value_as_array_uint;
            Int64 Long LongArgs value_as_long ArrayLong ArrayLongArgs value_as_array_long;
            UInt64 ULong ULongArgs value_as_ulong ArrayULong ArrayULongArgs value_as_array_ulong;
            Float32 Float FloatArgs value_as_float ArrayFloat ArrayFloatArgs value_as_array_float;
            Float64 Double DoubleArgs value_as_double ArrayDouble ArrayDoubleArgs value_as_array_double;
        }
    };
    (@ $($variant:ident $table:ident $args:ident $value:ident $array:ident $array_args:ident $values:ident;)+) => {
        fn read_scalar(log: &wire::Log<'_>) -> Option<$crate::Scalar> {
            $(if let Some(number) = log.$value() {
                return Some(number.value().into());
            })+
            None
        }

        fn read_array<'a>(log: &wire::Log<'a>) -> Option<$crate::Array<'a>> {
            $(if let Some(numbers) = log.$values() {
                return Some($crate::read::column_if(numbers.value()).into());
            })+
            None
        }

        fn write_scalar(encoder: &mut $crate::Encoder, scalar: $crate::Scalar) -> (wire::Value, $crate::encoder::Member) {
            match scalar {
                $($crate::Scalar::$variant(value) => {
                    let table = wire::$table::create(&mut encoder.builder, &wire::$args { value });
                    (wire::Value::$table, Some(table.as_union_value()))
                })+
            }
        }

        fn write_array(encoder: &mut $crate::Encoder, array: $crate::Array<'_>) -> (wire::Value, $crate::encoder::Member) {
            match array {
                $($crate::Array::$variant(column) => {
                    let args = wire::$array_args { value: encoder.column(column) };
                    let table = wire::$array::create(&mut encoder.builder, &args);
                    (wire::Value::$array, Some(table.as_union_value()))
                })+
            }
        }
    };
}

pub(crate) use log_values;
