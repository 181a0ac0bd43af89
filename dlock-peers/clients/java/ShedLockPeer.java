import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbc.JdbcLockProvider;

/** ShedLock by JDBC. It never waits: an acquire of a lock that is taken fails. */
final class ShedLockPeer {
    /** dlock's default. */
    private static final Duration TTL = Duration.ofSeconds(30);

    /** As its documentation has it. */
    private static final String TABLE =
            "CREATE TABLE IF NOT EXISTS shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY,"
                    + " lock_until TIMESTAMP(3) NOT NULL,"
                    + " locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),"
                    + " locked_by VARCHAR(255) NOT NULL)";

    public static void main(String[] args) throws Exception {
        URI server = URI.create(args[0]);
        Peer.serve(Peer.version(LockProvider.class), tasks -> connect(server, tasks));
    }

    private static Peer.Client connect(URI server, int tasks) throws Exception {
        String[] login = server.getUserInfo().split(":");
        HikariDataSource pool = new HikariDataSource();
        pool.setJdbcUrl("jdbc:mysql://" + server.getHost() + ":" + server.getPort()
                + server.getPath() + "?useSSL=false&allowPublicKeyRetrieval=true");
        pool.setUsername(login[0]);
        pool.setPassword(login[1]);
        pool.setMaximumPoolSize(tasks);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(TABLE);
        }
        LockProvider provider = new JdbcLockProvider(pool);
        return new Peer.Client() {
            @Override
            public Peer.Lock lock(String name) {
                return new Held(provider, name);
            }

            @Override
            public void close() {
                pool.close();
            }
        };
    }

    private static final class Held implements Peer.Lock {
        private final LockProvider provider;
        private final String name;
        private SimpleLock lock;

        Held(LockProvider provider, String name) {
            this.provider = provider;
            this.name = name;
        }

        /** Its times are rounded, so a lock that was just released may be refused within the same millisecond. */
        @Override
        public void acquire() {
            Optional<SimpleLock> granted;
            do {
                Instant now = Instant.now();
                granted = provider.lock(new LockConfiguration(now, name, TTL, Duration.ZERO));
            } while (granted.isEmpty());
            lock = granted.get();
        }

        @Override
        public void release() {
            lock.unlock();
        }
    }
}
