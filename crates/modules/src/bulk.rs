//! Frames with a tail where nobody takes them.

use tidegate_base::DropReason;
use tidegate_packet::Batch;
use tidegate_pipeline::Context;

/// Drops those of `batch` that have a tail; the others keep their order.
#[cold]
pub(crate) fn drop_bulk(ctx: &mut Context<'_>, batch: &mut Batch) {
    for _ in 0..batch.len() {
        let Some(frame) = batch.drain_front(1).next() else { break };
        if frame.tail().is_some() {
            ctx.drop(frame, DropReason::TooLong);
        } else if let Err(frame) = batch.push(frame) {
            // Not reached: there is the room that it left.
            ctx.drop(frame, DropReason::NoFrame);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::{QueueInc, QueueIncParams};
    use crate::{PortIn, Sink};
    use std::os::fd::BorrowedFd;
    use tidegate_base::{DropReason, Instant};
    use tidegate_packet::{Batch, HeapMemory, Pool, TailBuffers};
    use tidegate_pipeline::{Graph, Module, PortIndex, Worker, WorkerConfig, control};
    use tidegate_port::{Port, PortCounters};

    /// Receives four frames a time, every other one with a tail.
    struct Large(TailBuffers);

    impl Port for Large {
        fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
            for number in 0..4u8 {
                let mut frame = pool.alloc().unwrap();
                frame.extend(&[number; 60]);
                if number % 2 == 1 {
                    let buffer = self.0.take();
                    frame.append(self.0.tail(buffer, 1000));
                }
                batch.push(frame).unwrap();
            }
            4
        }
        fn tx_room(&mut self, _: &mut Pool) -> usize {
            0
        }
        fn tx(&mut self, _: &mut Pool, _: &mut Batch) {}
        fn flush(&mut self, _: &mut Pool) {}
        fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }
        fn frame_len_max(&self) -> usize {
            1518
        }
        fn receives_bulk(&self) -> bool {
            true
        }
        fn counters(&self) -> PortCounters {
            PortCounters::default()
        }
    }

    fn received_by(module: Box<dyn Module>) -> (u64, u64) {
        let mut graph = Graph::new();
        let head = graph.add("head", module).unwrap();
        let sink = graph.add("sink", Box::new(Sink)).unwrap();
        graph.connect(head, 0, sink, 0).unwrap();
        let pool = Pool::new(Box::new(HeapMemory::new(256 * 2048)), 2048).unwrap();
        let (_control, commands) = control(|| {});
        let ports: Vec<Box<dyn Port>> = vec![Box::new(Large(TailBuffers::new(8)))];
        let mut worker = Worker::new(WorkerConfig::default(), pool, ports, graph, commands);
        worker.round(Instant::from_millis(1));
        let snapshot = worker.snapshot();
        let of = |name: &str| snapshot.modules.iter().find(|module| module.name == name).unwrap();
        let dropped = of("head").traffic.drops.of(DropReason::TooLong);
        (of("sink").inputs[0].traffic.packet_count, dropped)
    }

    #[test]
    fn whoever_receives_gives_large_frames_to_nobody_who_takes_none() {
        assert_eq!(received_by(Box::new(PortIn::new(PortIndex(0)))), (2, 2));
        let queue = QueueIncParams { port: PortIndex(0), prefetch: true };
        assert_eq!(received_by(Box::new(QueueInc::new(queue))), (2, 2));
    }
}
