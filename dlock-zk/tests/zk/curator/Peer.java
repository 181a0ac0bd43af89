import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** A Curator client that takes and frees one lock as the lines of its input say. */
public final class Peer {
    public static void main(String[] args) throws Exception {
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(
                        args[0], Integer.parseInt(args[2]), 10_000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        InterProcessMutex mutex = new InterProcessMutex(client, args[1]);
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            switch (line) {
                case "acquire":
                    mutex.acquire();
                    System.out.println("acquired");
                    break;
                case "try":
                    System.out.println(
                            mutex.acquire(200, TimeUnit.MILLISECONDS) ? "acquired" : "taken");
                    break;
                default:
                    mutex.release();
                    System.out.println("released");
            }
        }
        client.close();
    }
}
