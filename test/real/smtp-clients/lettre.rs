use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Message, SmtpTransport, Transport};
use std::env::var;

fn main() {
    let authority = Certificate::from_pem(&std::fs::read(var("SSL_CERT_FILE").unwrap()).unwrap()).unwrap();
    let tls = TlsParameters::builder("localhost".into()).add_root_certificate(authority).build().unwrap();
    let transport = SmtpTransport::starttls_relay("localhost")
        .unwrap()
        .port(var("PORT").unwrap().parse().unwrap())
        .tls(Tls::Required(tls))
        .credentials(Credentials::new("any".into(), var("VERDICT_API_KEY").unwrap()))
        .build();
    let mut builder = Message::builder().from(var("FROM").unwrap().parse().unwrap()).subject(var("SUBJECT").unwrap());
    for recipient in var("TO").unwrap().split(',') {
        builder = builder.to(recipient.parse().unwrap());
    }
    let message = builder.body(String::from("Shipped.")).unwrap();
    for _ in 0..2 {
        match transport.send(&message) {
            Ok(_) => return println!("sent"),
            Err(error) => {
                let code = error.status().map(|code| code.to_string()).unwrap_or_default();
                println!("failed {code} {error}");
                if error.is_permanent() {
                    return;
                }
            }
        }
    }
}
