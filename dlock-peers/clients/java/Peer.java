import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The lines of the README; the workloads are in {@link Workloads}. */
final class Peer {
    /** A lock of one name, for one thread. */
    interface Lock {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    /** A client that is connected; threads share it. */
    interface Client extends AutoCloseable {
        Lock lock(String name) throws Exception;
    }

    /** Makes a client. */
    interface Connect {
        /** {@code tasks}: how many threads share it. */
        Client connect(int tasks) throws Exception;
    }

    /** Answers requests to the end of the input. */
    static void serve(String version, Connect connect) throws Exception {
        try {
            Client client = connect.connect(Workloads.MANY);
            System.out.println("ready");
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                System.out.println(answer(line.split(" "), version, client, connect));
            }
        } catch (Exception failure) {
            failure.printStackTrace();
            System.exit(1);
        }
        // The threads of the client would keep the process alive.
        System.exit(0);
    }

    private static String answer(
            String[] words, String version, Client client, Connect connect) throws Exception {
        switch (words[0]) {
            case "version":
                return "{\"version\": \"" + version + "\"}";
            case "cycles":
                int tasks = Integer.parseInt(words[1]);
                return Workloads.cycles(client, tasks, Double.parseDouble(words[2]));
            case "handover":
                return Workloads.handOver(connect, Double.parseDouble(words[1]));
            default:
                int clients = Integer.parseInt(words[1]);
                return Workloads.contend(connect, clients, Double.parseDouble(words[2]));
        }
    }

    /** The version in the name of the jar of a class. */
    static String version(Class<?> library) throws Exception {
        Path jar = Path.of(library.getProtectionDomain().getCodeSource().getLocation().toURI());
        Matcher found = Pattern.compile("-([0-9].*)\\.jar").matcher(jar.getFileName().toString());
        return found.find() ? found.group(1) : "";
    }
}
