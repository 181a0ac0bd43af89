//! Makes the code of the service that `with_tonic` serves.

fn main() -> std::io::Result<()> {
    tonic_prost_build::compile_protos("proto/invoices.proto")
}
