// Package stage is where a rule of the contract is played: a directory with a frontier in it, and the calls of the
// contract in short words, which fail the test when the engine answers with an error. After each call the totals must
// agree with each other and with the sums over the hosts.
package stage
