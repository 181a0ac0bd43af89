// Lock clients in Go: see ../../README.md. The arguments are the client's name and the server's address.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func number(word string) int {
	number, err := strconv.Atoi(word)
	check(err)
	return number
}

func seconds(word string) time.Duration {
	seconds, err := strconv.ParseFloat(word, 64)
	check(err)
	return time.Duration(seconds * float64(time.Second))
}

// The version of a module of this program.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return strings.TrimPrefix(dependency.Version, "v")
		}
	}
	return ""
}

func main() {
	name, address := os.Args[1], os.Args[2]
	again := func() client {
		client, err := connect(name, address)
		check(err)
		return client
	}
	client := again()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		var answer any
		switch words[0] {
		case "version":
			answer = map[string]string{"version": version(modules[name])}
		case "cycles":
			answer = cycles(client, number(words[1]), seconds(words[2]))
		case "handover":
			answer = handOver(again, seconds(words[1]))
		default:
			answer = contend(again, number(words[1]), seconds(words[2]))
		}
		line, err := json.Marshal(answer)
		check(err)
		fmt.Println(string(line))
	}
}
