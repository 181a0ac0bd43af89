// Redsync, and the mutex of etcd's package concurrency: see ../README.md.
//
// The first argument is the client: redsync or concurrency.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// A lock that is held: its release.
type release func() error

// Acquires a lock, or returns nil if it is taken and the client shall not wait.
type acquire func(name string, waits bool) (release, error)

func overRedis(address string, ttl time.Duration) acquire {
	client := redis.NewClient(&redis.Options{Addr: address})
	sync := redsync.New(goredis.NewPool(client))
	return func(name string, waits bool) (release, error) {
		tries := 1
		if waits {
			tries = 1000
		}
		mutex := sync.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(tries),
			redsync.WithRetryDelay(50*time.Millisecond))
		err := mutex.Lock()
		var taken *redsync.ErrTaken
		if errors.As(err, &taken) {
			return nil, nil
		}
		unlock := func() error { _, err := mutex.Unlock(); return err }
		return unlock, err
	}
}

func overEtcd(address string, ttl time.Duration) acquire {
	client, err := etcd.New(etcd.Config{Endpoints: []string{address}, DialTimeout: 5 * time.Second})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(int(ttl.Seconds())))
	check(err)
	return func(name string, waits bool) (release, error) {
		mutex := concurrency.NewMutex(session, name)
		lock := mutex.TryLock
		if waits {
			lock = mutex.Lock
		}
		err := lock(context.Background())
		if errors.Is(err, concurrency.ErrLocked) {
			return nil, nil
		}
		return func() error { return mutex.Unlock(context.Background()) }, err
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	seconds, err := strconv.Atoi(os.Args[3])
	check(err)
	ttl := time.Duration(seconds) * time.Second
	clients := map[string]func(string, time.Duration) acquire{
		"redsync": overRedis, "concurrency": overEtcd,
	}
	take := clients[os.Args[1]](os.Args[2], ttl)
	held := map[string]release{}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, name, _ := strings.Cut(lines.Text(), " ")
		if verb == "release" {
			check(held[name]())
			delete(held, name)
			fmt.Println("released")
			continue
		}
		free, err := take(name, verb == "acquire")
		check(err)
		if free == nil {
			fmt.Println("taken")
			continue
		}
		held[name] = free
		fmt.Println("acquired")
	}
}
