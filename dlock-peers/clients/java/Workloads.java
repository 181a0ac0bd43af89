import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/** The workloads, by threads. */
final class Workloads {
    static final int MANY = 64;

    private static final double NANOS = 1e9;

    private static final ExecutorService THREADS = Executors.newCachedThreadPool();

    static String cycles(Peer.Client client, int tasks, double seconds) throws Exception {
        long begin = System.nanoTime();
        long end = begin + (long) (seconds * NANOS);
        List<Future<Long>> running = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            Peer.Lock lock = client.lock("peers-" + task);
            running.add(THREADS.submit(() -> repeat(lock, end)));
        }
        long cycles = 0;
        for (Future<Long> count : running) {
            cycles += count.get();
        }
        double took = (System.nanoTime() - begin) / NANOS;
        return String.format("{\"cycles\": %d, \"seconds\": %f}", cycles, took);
    }

    private static long repeat(Peer.Lock lock, long end) throws Exception {
        long cycles = 0;
        for (; System.nanoTime() < end; cycles++) {
            lock.acquire();
            lock.release();
        }
        return cycles;
    }

    static String handOver(Peer.Connect connect, double seconds) throws Exception {
        List<Double> times = new ArrayList<>();
        try (Peer.Client one = connect.connect(1);
                Peer.Client other = connect.connect(1)) {
            long end = System.nanoTime() + (long) (seconds * NANOS);
            Turn first = new Turn(one);
            Turn second = new Turn(other);
            first.acquire().get();
            while (System.nanoTime() < end) {
                Future<Long> granted = second.acquire();
                Thread.sleep(100 + ThreadLocalRandom.current().nextInt(100));
                long released = first.release();
                times.add((granted.get() - released) / 1e6);
                Turn next = first;
                first = second;
                second = next;
            }
            first.release();
            first.end();
            second.end();
        }
        return "{\"hand_overs_ms\": " + times + "}";
    }

    /** A client with a thread of its own: some locks belong to the thread that acquired them. */
    private static final class Turn {
        private final ExecutorService thread = Executors.newSingleThreadExecutor();
        private final Peer.Lock lock;

        Turn(Peer.Client client) throws Exception {
            lock = client.lock("peers-hand-over");
        }

        /** The time of the grant. */
        Future<Long> acquire() {
            return thread.submit(() -> {
                lock.acquire();
                return System.nanoTime();
            });
        }

        /** The time at which the release began. */
        long release() throws Exception {
            return thread.submit(() -> {
                long begin = System.nanoTime();
                lock.release();
                return begin;
            }).get();
        }

        void end() {
            thread.shutdown();
        }
    }

    static String contend(Peer.Connect connect, int count, double seconds) throws Exception {
        List<Peer.Client> clients = new ArrayList<>();
        List<Peer.Lock> locks = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            clients.add(connect.connect(1));
            locks.add(clients.get(number).lock("peers-contended"));
        }
        long end = System.nanoTime() + (long) (seconds * NANOS);
        AtomicInteger last = new AtomicInteger(-1);
        AtomicLong moved = new AtomicLong();
        AtomicLong longest = new AtomicLong();
        List<Future<Long>> running = new ArrayList<>();
        for (int each = 0; each < count; each++) {
            int number = each;
            running.add(THREADS.submit(() -> share(
                    locks.get(number), end,
                    wait -> longest.accumulateAndGet(wait, Math::max),
                    () -> {
                        if (last.getAndSet(number) != number) {
                            moved.incrementAndGet();
                        }
                    })));
        }
        long[] grants = new long[count];
        for (int number = 0; number < count; number++) {
            grants[number] = running.get(number).get();
        }
        for (Peer.Client client : clients) {
            client.close();
        }
        return String.format(
                "{\"grants\": %s, \"moved\": %d, \"longest_wait_ms\": %f, \"seconds\": %f}",
                Arrays.toString(grants), moved.get(), longest.get() / 1e6, seconds);
    }

    /** Reports the wait of each acquire, and each grant; the number of grants. */
    private static long share(
            Peer.Lock lock, long end, LongConsumer waited, Runnable granted)
            throws Exception {
        long grants = 0;
        for (long begin = System.nanoTime(); begin < end; begin = System.nanoTime()) {
            lock.acquire();
            long now = System.nanoTime();
            waited.accept(Math.min(now, end) - begin);
            if (now < end) {
                grants++;
                granted.run();
            }
            lock.release();
        }
        return grants;
    }
}
