//! A server that is made writable.

use std::io;

use super::Node;

/// Other sessions of the administrator. A session whose client was killed goes on with its statement.
const OTHERS: &str =
    "SELECT id FROM information_schema.PROCESSLIST WHERE user = 'root' AND id <> CONNECTION_ID()";

impl Node {
    /// Makes the server writable, and returns whether it stays so.
    ///
    /// A statement that makes it read-only waits in the server for those of clients, and one that makes it writable does
    /// not. So the first one may come later, also if its client was killed. The other sessions of the administrator are
    /// killed, and the caller tries again.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses.
    pub async fn try_make_writable(&self) -> io::Result<bool> {
        let others = self.query(OTHERS).await?.concat();
        if others.is_empty() {
            return self.query("SET GLOBAL read_only = 0").await.map(|_| true);
        }
        for other in others {
            // It may have ended by itself.
            let _ = self.query(&format!("KILL {other}")).await;
        }
        Ok(false)
    }
}
