// Package control connects a running crawl (Serve) with other processes (Remote). A crawl has its frontier to itself
// while it runs; other processes of the user query and steer it here.
//
// Serve listens on a loopback port, and writes its address and a secret to control.json in the crawl directory.
// Readers of the file may connect. Each side proves that it knows the secret (Secure), so that neither a process
// that took over the port after a kill nor another user is trusted. Questions, commands and their answers are
// JSON over HTTP and TLS. A snapshot is a file in the directory.
//
// The package makes no decisions about the crawl: the interface Crawl does.
package control
