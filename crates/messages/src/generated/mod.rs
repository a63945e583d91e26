//! Made by `scripts/make-messages.sh` of `schemas/*.fbs`, a module per schema: the names of tables collide.

macro_rules! schemas {
    ($($name:ident)+) => {
        $(
            #[rustfmt::skip]
            #[allow(
                missing_docs, unsafe_code, unused, unreachable_pub, non_camel_case_types, rust_2018_idioms,
                mismatched_lifetime_syntaxes, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used
            )]
            pub(crate) mod $name;
        )+
    };
}

schemas! {
    ad00 al00 an44 answ ar51 da00 ep00 ep01 ev42 ev43 ev44 f142 f144 hs00 hs01 json mo01 pl72 pu00 s6s4t se00 senv
    senv_2018 tdct un00 vc00 wrdn x5f2
}
