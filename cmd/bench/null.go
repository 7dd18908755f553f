package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// NullRate asks for roots and throws away what comes: how fast is the web at most? It is how many requests per second are answered to so many connections.
func NullRate(ctx context.Context, seeds []string, workers int, lasts time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	var asked atomic.Int64
	errs := make([]error, workers)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range workers {
		all.Go(func() { errs[i] = askAndForget(ctx, seeds[i%len(seeds)], &asked) })
	}
	all.Wait()
	return float64(asked.Load()) / time.Since(begun).Seconds(), errors.Join(errs...)
}

func askAndForget(ctx context.Context, seed string, asked *atomic.Int64) error {
	u, err := url.Parse(seed)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing was kept of it
	in := bufio.NewReaderSize(conn, 32<<10)
	request := fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", u.Host)
	for ctx.Err() == nil {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := readAnswer(in, io.Discard); err != nil {
			return err
		}
		asked.Add(1)
	}
	return nil
}
