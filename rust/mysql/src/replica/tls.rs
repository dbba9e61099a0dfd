//! TLS according to the options: trusted certificates, and the check of the host's name.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::connection::{Error, Tls, TlsMode};

/// Converts the name of a host to the form in certificates.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, Error> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_owned())
        .map_err(|_| Error::Tls(format!("{host} is no name that a certificate can have")))
}

/// Returns the client's configuration.
pub(super) fn client_config(tls: &Tls) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier(tls, provider)?));
    match &tls.identity {
        None => Ok(builder.with_no_client_auth()),
        Some((certificate, key)) => {
            builder.with_client_auth_cert(certificates(certificate)?, private_key(key)?).map_err(failed)
        }
    }
}

fn verifier(tls: &Tls, provider: Arc<CryptoProvider>) -> Result<Verifier, Error> {
    let checked = match tls.mode {
        TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => None,
        TlsMode::VerifyCa | TlsMode::VerifyIdentity => {
            let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
            for certificate in tls.ca.as_deref().map(certificates).transpose()?.unwrap_or_default() {
                roots.add(certificate).map_err(failed)?;
            }
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(verifier.build().map_err(|error| Error::Tls(error.to_string()))?)
        }
    };
    Ok(Verifier { checked, by_name: tls.mode == TlsMode::VerifyIdentity, provider })
}

/// Reads certificates: PEM, or one in DER.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if found.is_empty() && !bytes.is_empty() => Ok(vec![CertificateDer::from(bytes)]),
        Ok(found) => Ok(found),
        Err(error) => Err(unusable(path, &error)),
    }
}

/// Reads a private key: PEM or DER.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let bytes = read(path)?;
    match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(key) => Ok(key),
        Err(rustls::pki_types::pem::Error::NoItemsFound) => {
            PrivateKeyDer::try_from(bytes).map_err(|error| unusable(path, &error))
        }
        Err(error) => Err(unusable(path, &error)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Tls(format!("{}: {error}", path.display()))
}

#[allow(clippy::needless_pass_by_value)] // passed to map_err
fn failed(error: rustls::Error) -> Error {
    Error::Tls(error.to_string())
}

/// Verifies certificates according to the options.
#[derive(Debug)]
struct Verifier {
    /// None where any certificate is accepted.
    checked: Option<Arc<WebPkiServerVerifier>>,
    by_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(checked) = &self.checked else { return Ok(ServerCertVerified::assertion()) };
        match checked.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The chain of trust is verified before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.by_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.checked.is_none() {
            // Servers' own certificates may be of a kind that is not supported here; without verification they are
            // accepted.
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.checked.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
