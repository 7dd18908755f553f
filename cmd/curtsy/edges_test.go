package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
)

// Another command on a stopped crawl holds its frontier; status does not take it for a crawl.
func TestStatusBesideAnotherCommandContradictsItselfNot(t *testing.T) {
	t.Parallel()
	dir := unanswered(t)
	f, err := engine.Open(inDir(dir, crawldir.FrontierName), frontier.Options{})
	require.NoError(t, err)
	defer f.Close()
	r := inside(t, "status", dir)
	r.want(t, cli.ExitFailed, "another command")
	assert.NotContains(t, r.err, "no crawl is running")
}
