//! Requests to a member through its JSON gateway.

use std::{io, net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::Login;

/// How long an answer may take: a member that is stopped gives none.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The way to one member.
#[derive(Clone, Debug)]
pub(super) struct Admin {
    pub(super) address: SocketAddr,
    pub(super) login: Login,
}

impl Admin {
    /// Sends a request to `path`, such as `/v3/kv/range`, on a connection of its own.
    ///
    /// # Errors
    ///
    /// When there is no answer within 10 s, or it is a refusal.
    pub(super) async fn call(&self, path: &str, request: &Value) -> io::Result<Value> {
        let Login::Root(password) = &self.login else {
            return self.call_as(None, path, request).await;
        };
        let who = json!({"name": "root", "password": password});
        let answer = self.call_as(None, "/v3/auth/authenticate", &who).await?;
        let token = answer["token"].as_str().unwrap_or_default();
        self.call_as(Some(token), path, request).await
    }

    /// Creates the user `root`, and requires authentication.
    pub(super) async fn let_in_only_root(&self, password: &str) -> io::Result<()> {
        for (path, request) in [
            (
                "/v3/auth/user/add",
                json!({"name": "root", "password": password}),
            ),
            ("/v3/auth/role/add", json!({"name": "root"})),
            (
                "/v3/auth/user/grant",
                json!({"user": "root", "role": "root"}),
            ),
            ("/v3/auth/enable", json!({})),
        ] {
            self.call_as(None, path, &request).await?;
        }
        Ok(())
    }

    /// The value of a counter of the member.
    pub(super) async fn metric(&self, name: &str) -> io::Result<f64> {
        let text = self.exchange("GET", "/metrics", None, "").await?;
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let number = value.and_then(|value| value.trim().parse().ok());
        number.ok_or_else(|| io::Error::other(format!("no metric {name}")))
    }

    /// The sum of a counter of the member over those of its labels that have `part`.
    pub(super) async fn metric_sum(&self, name: &str, part: &str) -> io::Result<f64> {
        let text = self.exchange("GET", "/metrics", None, "").await?;
        let of_label = |line: &str| {
            let labels = line.strip_prefix(name)?.strip_prefix('{')?;
            let (labels, value) = labels.rsplit_once("} ")?;
            let value = value.trim().parse::<f64>().ok()?;
            labels.contains(part).then_some(value)
        };
        Ok(text.lines().filter_map(of_label).sum())
    }

    async fn call_as(&self, token: Option<&str>, path: &str, request: &Value) -> io::Result<Value> {
        let body = self
            .exchange("POST", path, token, &request.to_string())
            .await?;
        let answer: Value = serde_json::from_str(&body).map_err(io::Error::other)?;
        // Older gateways name the reason differently.
        let mut fields = ["error", "Error", "message"].into_iter();
        match fields.find_map(|field| answer.get(field)) {
            Some(why) => Err(io::Error::other(format!("{path}: {why}"))),
            None => Ok(answer),
        }
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &str,
    ) -> io::Result<String> {
        let token = token.map_or(String::new(), |token| format!("Authorization: {token}\r\n"));
        // Of an older protocol, so that the answer has no chunks and ends with the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\n{token}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            io::Result::Ok(answer)
        };
        let answer = timeout(ANSWER_MAX, exchange).await??;
        match answer.split_once("\r\n\r\n") {
            Some((_, body)) => Ok(body.to_owned()),
            None => Err(io::Error::other(format!("{path}: no answer"))),
        }
    }
}
