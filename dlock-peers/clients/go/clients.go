package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// A lock of one name, for one goroutine.
type lock interface {
	acquire() error
	release() error
}

// A client that is connected.
type client interface {
	io.Closer
	lock(name string) lock
}

// The modules, whose versions are reported.
var modules = map[string]string{
	"redsync":      "github.com/go-redsync/redsync/v4",
	"concurrency":  "go.etcd.io/etcd/client/v3",
	"go-zookeeper": "github.com/go-zookeeper/zk",
}

func connect(name, address string) (client, error) {
	switch name {
	case "redsync":
		redis := redis.NewClient(&redis.Options{Addr: address})
		return redsyncClient{redis, redsync.New(goredis.NewPool(redis))}, nil
	case "concurrency":
		config := etcd.Config{Endpoints: []string{address}, DialTimeout: 5 * time.Second}
		client, err := etcd.New(config)
		if err != nil {
			return nil, err
		}
		session, err := concurrency.NewSession(client)
		return etcdClient{client, session}, err
	default:
		connection, _, err := zk.Connect([]string{address}, 30*time.Second,
			zk.WithLogInfo(false))
		return zkClient{connection}, err
	}
}

type redsyncClient struct {
	*redis.Client
	sync *redsync.Redsync
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (c redsyncClient) lock(name string) lock {
	return redsyncLock{c.sync.NewMutex(name)}
}

// By default 32 tries; they are repeated.
func (l redsyncLock) acquire() error {
	for {
		err := l.mutex.Lock()
		var taken *redsync.ErrTaken
		if !errors.As(err, &taken) && !errors.Is(err, redsync.ErrFailed) {
			return err
		}
	}
}

func (l redsyncLock) release() error {
	_, err := l.mutex.Unlock()
	return err
}

type etcdClient struct {
	*etcd.Client
	session *concurrency.Session
}

type etcdLock struct{ mutex *concurrency.Mutex }

func (c etcdClient) lock(name string) lock {
	return etcdLock{concurrency.NewMutex(c.session, name)}
}

func (c etcdClient) Close() error {
	return errors.Join(c.session.Close(), c.Client.Close())
}

func (l etcdLock) acquire() error { return l.mutex.Lock(context.Background()) }
func (l etcdLock) release() error { return l.mutex.Unlock(context.Background()) }

type zkClient struct{ connection *zk.Conn }

type zkLock struct{ *zk.Lock }

func (c zkClient) lock(name string) lock {
	return zkLock{zk.NewLock(c.connection, "/go/"+name, zk.WorldACL(zk.PermAll))}
}

func (c zkClient) Close() error {
	c.connection.Close()
	return nil
}

func (l zkLock) acquire() error { return l.Lock.Lock() }
func (l zkLock) release() error { return l.Unlock() }
