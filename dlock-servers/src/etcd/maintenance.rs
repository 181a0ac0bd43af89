//! The commands of a cluster's administrator.

use std::io;

use serde_json::json;

use super::{Login, Node};

impl Node {
    /// The member's number in the cluster.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn member_id(&self) -> io::Result<String> {
        let status = self.call("/v3/maintenance/status", &json!({})).await?;
        let id = status["header"]["member_id"].as_str();
        id.map(str::to_owned)
            .ok_or_else(|| io::Error::other("a status without a member"))
    }

    /// Hands the leadership of this member over to another one, by its [number](Self::member_id).
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call), and when this one does not lead.
    pub async fn move_leader(&self, to: &str) -> io::Result<()> {
        let request = json!({"targetID": to});
        let path = "/v3/maintenance/transfer-leadership";
        self.call(path, &request).await.map(drop)
    }

    /// Frees the room of what was compacted. Until then the member answers nothing.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn defragment(&self) -> io::Result<()> {
        let path = "/v3/maintenance/defragment";
        self.call(path, &json!({})).await.map(drop)
    }

    /// Raises the alarm `NOSPACE` for the whole cluster, as a full member does.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn raise_no_space(&self) -> io::Result<()> {
        self.alarm("ACTIVATE").await
    }

    /// Ends the alarm `NOSPACE`.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn end_no_space(&self) -> io::Result<()> {
        self.alarm("DEACTIVATE").await
    }

    async fn alarm(&self, action: &str) -> io::Result<()> {
        let request =
            json!({"action": action, "memberID": self.member_id().await?, "alarm": "NOSPACE"});
        self.call("/v3/maintenance/alarm", &request).await.map(drop)
    }

    /// Makes all members forget the logins of `root`, by setting its password again.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call), and when the cluster requires no login.
    pub async fn expire_logins(&self) -> io::Result<()> {
        let Login::Root(password) = self.login() else {
            return Err(io::Error::other("the cluster requires no login"));
        };
        let request = json!({"name": "root", "password": password});
        self.call("/v3/auth/user/changepw", &request)
            .await
            .map(drop)
    }
}
