package main

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

type cyclesDone struct {
	Cycles  int     `json:"cycles"`
	Seconds float64 `json:"seconds"`
}

type handOversDone struct {
	HandOversMs []float64 `json:"hand_overs_ms"`
}

type contendedDone struct {
	Grants        []int   `json:"grants"`
	Moved         int64   `json:"moved"`
	LongestWaitMs float64 `json:"longest_wait_ms"`
	Seconds       float64 `json:"seconds"`
}

func millis(duration time.Duration) float64 { return duration.Seconds() * 1e3 }

func cycles(client client, tasks int, window time.Duration) cyclesDone {
	begin := time.Now()
	counts := make(chan int)
	for task := range tasks {
		lock := client.lock(fmt.Sprintf("peers-%d", task))
		go func() {
			count := 0
			for ; time.Since(begin) < window; count++ {
				check(lock.acquire())
				check(lock.release())
			}
			counts <- count
		}()
	}
	all := 0
	for range tasks {
		all += <-counts
	}
	return cyclesDone{all, time.Since(begin).Seconds()}
}

func handOver(connect func() client, window time.Duration) handOversDone {
	clients := []client{connect(), connect()}
	defer clients[0].Close()
	defer clients[1].Close()
	holder, waiter := clients[0].lock("peers-hand-over"), clients[1].lock("peers-hand-over")
	end := time.Now().Add(window)
	var times []float64
	check(holder.acquire())
	for time.Now().Before(end) {
		granted := make(chan time.Time)
		go func() {
			check(waiter.acquire())
			granted <- time.Now()
		}()
		time.Sleep(time.Duration(100+rand.IntN(100)) * time.Millisecond)
		released := time.Now()
		check(holder.release())
		times = append(times, millis((<-granted).Sub(released)))
		holder, waiter = waiter, holder
	}
	check(holder.release())
	return handOversDone{times}
}

type shareDone struct {
	grants  int
	longest time.Duration
}

func contend(connect func() client, count int, window time.Duration) contendedDone {
	locks := make([]lock, count)
	for number := range locks {
		client := connect()
		defer client.Close()
		locks[number] = client.lock("peers-contended")
	}
	end := time.Now().Add(window)
	var last, moved atomic.Int64
	last.Store(-1)
	shares := make(chan shareDone)
	for number, lock := range locks {
		go func() {
			share := shareDone{}
			for begin := time.Now(); begin.Before(end); begin = time.Now() {
				check(lock.acquire())
				now := time.Now()
				share.longest = max(share.longest, min(now.Sub(begin), end.Sub(begin)))
				if now.Before(end) {
					share.grants++
					if last.Swap(int64(number)) != int64(number) {
						moved.Add(1)
					}
				}
				check(lock.release())
			}
			shares <- share
		}()
	}
	done := contendedDone{Seconds: window.Seconds()}
	for range locks {
		share := <-shares
		done.Grants = append(done.Grants, share.grants)
		done.LongestWaitMs = max(done.LongestWaitMs, millis(share.longest))
	}
	done.Moved = moved.Load()
	return done
}
