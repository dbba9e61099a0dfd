//! The server's certificate and key.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::serve::error::ServeError;

/// Reads certificate and key, both PEM, as the configuration of a server.
pub fn server_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, ServeError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificate, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificate, &"the file holds no certificate in PEM"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| unusable(certificate, &error))?;
    Ok(Arc::new(config))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> ServeError {
    ServeError::Tls(format!("{}: {error}", path.display()))
}
