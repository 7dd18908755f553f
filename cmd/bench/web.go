package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"curtsy/cmd/curtsy/procgroup"
)

// The web is a process that is spoken to over its standard streams, a line of JSON each way: it says where it is, and
// after each line that it is told what its referee has seen since the line before. It ends when nobody speaks any more.

// webReport is what the web says.
type webReport struct {
	Refereed
	CPU float64 `json:"cpu_s"` // of the web itself; 0 where the system does not tell
}

// Web serves a web until nobody speaks to it any more. config is a benchweb.Config as JSON.
func Web(config string, in io.Reader, out io.Writer) error {
	var c WebConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return usagef("%w", err)
	}
	web, err := Start(c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(web.Seeds()); err != nil {
		return errors.Join(err, web.Close())
	}
	cpu := ownCPU()
	for asked := bufio.NewScanner(in); asked.Scan(); {
		now := ownCPU()
		if err := json.NewEncoder(out).Encode(webReport{web.Report(), (now - cpu).Seconds()}); err != nil {
			return errors.Join(err, web.Close())
		}
		web.Reset()
		cpu = ownCPU()
	}
	return web.Close()
}

// remoteWeb is the other end of that.
type remoteWeb struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	seeds []string
}

func startWeb(ctx context.Context, self string, c WebConfig) (_ *remoteWeb, err error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	w := &remoteWeb{cmd: exec.CommandContext(ctx, self, "web", string(config))}
	procgroup.Together(w.cmd) // Ctrl-C is for us, who close it last
	w.cmd.WaitDelay = procgroup.Grace
	var said strings.Builder
	w.cmd.Stderr = &said
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start the web: %w", err)
	}
	if err := w.hear(&w.seeds); err != nil {
		_ = w.close() // what it said is the better reason
		return nil, fmt.Errorf("bench: the web: %s", strings.TrimSpace(said.String()))
	}
	return w, nil
}

// report is what the referee saw since the last call.
func (w *remoteWeb) report() (r webReport, err error) {
	if _, err := io.WriteString(w.in, "report\n"); err != nil {
		return r, fmt.Errorf("bench: ask the web: %w", err)
	}
	return r, w.hear(&r)
}

func (w *remoteWeb) hear(into any) error {
	line, err := w.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		return fmt.Errorf("bench: what the web says: %w", err)
	}
	return nil
}

func (w *remoteWeb) close() error { return errors.Join(w.in.Close(), w.cmd.Wait()) }

// null measures how fast the web is for who throws everything away; 0 where answers are made to wait.
func (p *Plan) null(ctx context.Context, m *measuring) (float64, error) {
	if p.web.Latency > 0 {
		return 0, nil
	}
	var rate float64
	return rate, p.ask(ctx, m, &rate, "null", "--workers", fmt.Sprint(p.workers), "--lasts", nullLasts.String())
}

const nullLasts = 300 * time.Millisecond

// ask runs a client of ours on the first web and hears what it says. What the referee saw of it is forgotten.
func (p *Plan) ask(ctx context.Context, m *measuring, into any, args ...string) error {
	web, err := m.web(ctx, p.web)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, m.self, append(args, "--seeds", web.file)...)
	cmd.Env = m.env
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		return fmt.Errorf("bench: %s: %w", strings.Join(args[:2], " "), err)
	}
	_, err = web.report()
	return err
}
