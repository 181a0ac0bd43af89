import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/** The Lock RPC by jetcd: one lease for all locks of a client, which is kept alive. */
final class JetcdPeer {
    /** dlock's default, in seconds. */
    private static final long TTL = 30;

    public static void main(String[] args) throws Exception {
        // The driver's own remarks would be among the lines of the measurement.
        LogManager.getLogManager().reset();
        Peer.serve(Peer.version(Client.class), tasks -> connect("http://" + args[0]));
    }

    private static Peer.Client connect(String endpoint) throws Exception {
        Client client = Client.builder().endpoints(endpoint).build();
        long lease = client.getLeaseClient().grant(TTL).get().getID();
        AutoCloseable keeping = client.getLeaseClient().keepAlive(lease, new Ignored());
        return new Peer.Client() {
            @Override
            public Peer.Lock lock(String name) {
                return new Held(client, ByteSequence.from(name, StandardCharsets.UTF_8), lease);
            }

            @Override
            public void close() throws Exception {
                keeping.close();
                client.getLeaseClient().revoke(lease).get();
                client.close();
            }
        };
    }

    private static final class Held implements Peer.Lock {
        private final Client client;
        private final ByteSequence name;
        private final long lease;
        private ByteSequence key;

        Held(Client client, ByteSequence name, long lease) {
            this.client = client;
            this.name = name;
            this.lease = lease;
        }

        @Override
        public void acquire() throws Exception {
            key = client.getLockClient().lock(name, lease).get().getKey();
        }

        @Override
        public void release() throws Exception {
            client.getLockClient().unlock(key).get();
        }
    }

    /** A lease that is not kept alive makes the locks fail soon enough. */
    private static final class Ignored implements StreamObserver<LeaseKeepAliveResponse> {
        @Override
        public void onNext(LeaseKeepAliveResponse response) {}

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {}
    }
}
