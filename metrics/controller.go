// Package metrics holds what Volant measures of itself, in Prometheus' form.
// One registry per process, passed in: nothing here is global. It knows
// nothing of the rest of the project; those who work call the methods.
//
// docs/METRICS.md lists every name and is held to this package by a test.
package metrics

import (
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// buckets reach from a native sub-task to a long upgrade: 50 µs to 10 min.
var buckets = []float64{
	0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
	1, 2.5, 5, 10, 30, 60, 120, 300, 600,
}

// Controller is what one controller process measures. Its methods are safe for
// concurrent use; a nil Controller measures nothing.
type Controller struct {
	registry *prometheus.Registry

	runStart, runDuration, runExit *prometheus.GaugeVec
	plays                          prometheus.Counter
	hosts                          *prometheus.GaugeVec
	hostTasks                      *prometheus.GaugeVec
	tasks                          *prometheus.CounterVec
	taskSeconds                    *prometheus.HistogramVec
	phase                          *prometheus.HistogramVec
	subtasks                       *prometheus.CounterVec
	subtaskSeconds                 *prometheus.HistogramVec
	actionSubtasks, actionTrips    *prometheus.CounterVec
	actionStaged                   *prometheus.CounterVec
	connects                       *prometheus.CounterVec
	connectSeconds                 *prometheus.HistogramVec
	roundTrip                      prometheus.Histogram
	reconnects                     prometheus.Counter
	links, slots                   prometheus.Gauge
	unionBytes, unionFiles         *prometheus.CounterVec
	stagedBytes                    *prometheus.CounterVec
	dropped                        *prometheus.CounterVec
	skew                           prometheus.Histogram
	bufferMissing                  prometheus.Gauge
}

// NewController returns the metrics of a controller of the given version.
func NewController(version string, protocol int) *Controller {
	c := &Controller{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		c.registry.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		c.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		c.registry.MustRegister(v)
		return v
	}
	c.runStart = gauge("volant_run_start_timestamp_seconds", "When the run began.", "playbook")
	c.runDuration = gauge("volant_run_duration_seconds", "Wall time of the run.", "playbook")
	c.runExit = gauge("volant_run_exit_code", "Exit code of the run.", "playbook")
	c.plays = counter("volant_plays_total", "Plays started, batches of serial counted each.").WithLabelValues()
	c.hostTasks = gauge("volant_host_tasks", "Tasks of a host by how they ended, as the recap counts them; only where metrics_hosts is set.", "playbook", "host", "status")
	c.hosts = gauge("volant_run_hosts", "Hosts of the run by how they ended: ok, changed, failed, unreachable.", "playbook", "status")
	c.tasks = counter("volant_tasks_total", "Tasks done on a host, by action and how they ended: ok, changed, failed, skipped, unreachable.", "action", "status")
	c.taskSeconds = histogram("volant_task_duration_seconds", "Time of a task on one host, its waits included.", "action")
	c.phase = histogram("volant_task_phase_seconds", "Where the time of a task on one host went: queue, render, wire, host, barrier.", "phase")
	c.subtasks = counter("volant_subtasks_total", "Module runs on hosts, by module, path (native, python, raw, local) and outcome.", "module", "path", "outcome")
	c.subtaskSeconds = histogram("volant_subtask_seconds", "Time of a module run: on the host (work) and on the way (wire).", "path", "phase")
	c.actionSubtasks = counter("volant_action_subtasks_total", "Module runs on hosts, by the action that asked for them.", "action")
	c.actionTrips = counter("volant_action_round_trips_total", "Times one side of a link waited for the other, by action: for a result, for files, for what became of a sub-task after a lost link.", "action")
	c.actionStaged = counter("volant_action_staged_bytes_total", "Bytes of files moved, by action: to hosts (sent), from hosts (received).", "action", "what")
	c.connects = counter("volant_connects_total", "Links made, by way (call: a live agent dialled; bootstrap: installed or started over SSH; local) and outcome.", "way", "outcome")
	c.connectSeconds = histogram("volant_connect_seconds", "Time to make a link.", "way")
	c.roundTrip = histogram("volant_round_trip_seconds", "Round-trip time of links.").WithLabelValues().(prometheus.Histogram)
	c.reconnects = counter("volant_reconnects_total", "Links lost and made again during a run.").WithLabelValues()
	c.links = gauge("volant_links", "Links that are up.").WithLabelValues()
	c.slots = gauge("volant_slots", "Slots that are open on all links.").WithLabelValues()
	c.unionBytes = counter("volant_union_bytes_total", "Bytes of module code per link: sent, or spared because the host had them.", "what")
	c.unionFiles = counter("volant_union_files_total", "Files of module code per link: sent, or spared because the host had them.", "what")
	c.stagedBytes = counter("volant_staged_bytes_total", "Bytes of files moved for tasks: to hosts (sent), not needed there (spared), from hosts (received).", "what")
	c.dropped = counter("volant_dropped_total", "Things thrown away because a bound was reached, by what.", "what")
	c.skew = histogram("volant_clock_skew_seconds", "Absolute difference between a host's clock and the controller's.").WithLabelValues().(prometheus.Histogram)
	c.bufferMissing = gauge("volant_udp_buffer_missing_bytes", "Bytes of UDP receive buffer that the kernel refused.").WithLabelValues()
	info := gauge("volant_build_info", "Version and protocol of this binary; the value is 1.", "version", "protocol")
	info.WithLabelValues(version, fmt.Sprint(protocol)).Set(1)
	c.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return c
}

// RunStarted notes the beginning of a run of a playbook.
func (c *Controller) RunStarted(playbook string, at time.Time) {
	if c != nil {
		c.runStart.WithLabelValues(playbook).Set(float64(at.UnixNano()) / 1e9)
	}
}

// RunEnded notes how a run ended; hosts counts them by status.
func (c *Controller) RunEnded(playbook string, took time.Duration, exit int, hosts map[string]int) {
	if c == nil {
		return
	}
	c.runDuration.WithLabelValues(playbook).Set(took.Seconds())
	c.runExit.WithLabelValues(playbook).Set(float64(exit))
	for _, status := range []string{"ok", "changed", "failed", "unreachable"} {
		c.hosts.WithLabelValues(playbook, status).Set(float64(hosts[status]))
	}
}

// HostEnded notes how many tasks of a host ended how, for those who want hosts
// by name.
func (c *Controller) HostEnded(playbook, host string, tasks map[string]int) {
	if c == nil {
		return
	}
	for status, n := range tasks {
		c.hostTasks.WithLabelValues(playbook, host, status).Set(float64(n))
	}
}

// PlayStarted counts a play or a batch of one.
func (c *Controller) PlayStarted() {
	if c != nil {
		c.plays.Inc()
	}
}

// TaskDone counts a task done on a host.
func (c *Controller) TaskDone(action, status string, took time.Duration) {
	if c != nil {
		c.tasks.WithLabelValues(action, status).Inc()
		c.taskSeconds.WithLabelValues(action).Observe(took.Seconds())
	}
}

// TaskPhase notes a part of a task's time; phase is one of queue, render,
// wire, host, barrier.
func (c *Controller) TaskPhase(phase string, took time.Duration) {
	if c != nil && took > 0 {
		c.phase.WithLabelValues(phase).Observe(took.Seconds())
	}
}

// SubTask counts a module run on a host. Its path is native, python, raw or
// local; the reason of a hand-back is not a label.
func (c *Controller) SubTask(module, path, outcome string, wire, work time.Duration) {
	if c == nil {
		return
	}
	c.subtasks.WithLabelValues(module, path, outcome).Inc()
	c.subtaskSeconds.WithLabelValues(path, "wire").Observe(wire.Seconds())
	c.subtaskSeconds.WithLabelValues(path, "work").Observe(work.Seconds())
}

// ActionDid counts a module run for the action that asked for it: its round
// trips and the bytes of files sent and received.
func (c *Controller) ActionDid(action string, trips int, sent, received int64) {
	if c == nil {
		return
	}
	c.actionSubtasks.WithLabelValues(action).Inc()
	c.actionTrips.WithLabelValues(action).Add(float64(trips))
	if sent > 0 {
		c.actionStaged.WithLabelValues(action, "sent").Add(float64(sent))
	}
	if received > 0 {
		c.actionStaged.WithLabelValues(action, "received").Add(float64(received))
	}
}

// Connected counts an attempt to make a link.
func (c *Controller) Connected(way, outcome string, took time.Duration) {
	if c == nil {
		return
	}
	c.connects.WithLabelValues(way, outcome).Inc()
	if outcome == "ok" {
		c.connectSeconds.WithLabelValues(way).Observe(took.Seconds())
	}
}

// RoundTrip notes a measured round-trip time.
func (c *Controller) RoundTrip(rtt time.Duration) {
	if c != nil {
		c.roundTrip.Observe(rtt.Seconds())
	}
}

// Reconnected counts a lost link that came back.
func (c *Controller) Reconnected() {
	if c != nil {
		c.reconnects.Inc()
	}
}

// Links and Slots change the number that is up by n.
func (c *Controller) Links(n int) {
	if c != nil {
		c.links.Add(float64(n))
	}
}

// Slots changes the number of open slots by n.
func (c *Controller) Slots(n int) {
	if c != nil {
		c.slots.Add(float64(n))
	}
}

// Union counts module code: what is sent or spared.
func (c *Controller) Union(what string, files int, bytes int64) {
	if c != nil {
		c.unionFiles.WithLabelValues(what).Add(float64(files))
		c.unionBytes.WithLabelValues(what).Add(float64(bytes))
	}
}

// Staged counts bytes of files of tasks: what is sent, spared or received.
func (c *Controller) Staged(what string, bytes int64) {
	if c != nil {
		c.stagedBytes.WithLabelValues(what).Add(float64(bytes))
	}
}

// Dropped counts something thrown away at a bound.
func (c *Controller) Dropped(what string) {
	if c != nil {
		c.dropped.WithLabelValues(what).Inc()
	}
}

// Skew notes the difference between a host's clock and ours.
func (c *Controller) Skew(d time.Duration) {
	if c != nil {
		c.skew.Observe(d.Abs().Seconds())
	}
}

// BufferShortfall notes how many bytes of UDP buffer the kernel refused.
func (c *Controller) BufferShortfall(n int) {
	if c != nil {
		c.bufferMissing.Set(float64(n))
	}
}

// Write writes everything in Prometheus' text format.
func (c *Controller) Write(w io.Writer) error { return Write(c.registry, w) }

// WriteFile writes the metrics for node_exporter's textfile collector.
func (c *Controller) WriteFile(path string) error { return WriteFile(c.registry, path) }
