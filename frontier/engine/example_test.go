package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
)

// A frontier without a crawler picks the next URL and its time, forgets nothing, and gives each URL once.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := engine.Open(dir, frontier.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()

	candidate := func(raw, kind string) frontier.Candidate {
		u, err := canon.Parse(raw)
		if err != nil {
			log.Fatal(err)
		}
		c := frontier.Candidate{URL: u, Seed: "https://bakery.example/", Kind: frontier.KindLink}
		if kind == "seed" {
			c.Kind = frontier.KindSeed
		}
		return c
	}
	if _, err := f.Add(ctx, []frontier.Candidate{candidate("https://bakery.example/", "seed")}); err != nil {
		log.Fatal(err)
	}
	for {
		claimed, err := f.Claim(ctx, frontier.Want{Tasks: 10, MaxWait: time.Second})
		if err != nil {
			log.Fatal(err)
		}
		if len(claimed.Turns) == 0 {
			fmt.Println("drained:", claimed.State == frontier.Drained)
			break
		}
		turn := claimed.Turns[0] // no other worker has a turn with this host meanwhile
		result := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Millisecond}
		for _, task := range turn.Tasks {
			fmt.Println(task.URL)
			result.Done = append(result.Done, frontier.Done{Print: task.Print, Outcome: frontier.Fetched})
		}
		// The links of a page are stored in the same step as its outcome. These two name one URL, accepted once.
		result.Found = []frontier.Candidate{
			candidate("https://bakery.example/bread", "link"), candidate("HTTPS://BAKERY.example:443/bread#rye", "link"),
		}
		finished, err := f.Finish(ctx, []frontier.Result{result})
		if err != nil || finished[0].Err != nil {
			log.Fatal(err, finished[0].Err)
		}
	}
	// Output:
	// https://bakery.example/
	// https://bakery.example/bread
	// drained: true
}
