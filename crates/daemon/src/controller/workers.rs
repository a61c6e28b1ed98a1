//! Workers: started, paused, ended.

use crate::Daemon;
use crate::plant::{Plant, WorkerWish};
use tidegate_control::controller::{Above, Outcome, WorkerSpec, Workers};
use tidegate_control::proto::bess::list_workers_response::WorkerStatus;
use tidegate_control::{Errno, Fault};

impl Daemon {
    fn set_paused(&mut self, wid: u8, is_paused: bool) -> Outcome {
        self.workers.get_mut(&wid).ok_or_else(|| missing(wid))?.set_paused(is_paused)
    }
}

fn missing(wid: u8) -> Fault {
    Fault::missing(format!("there is no worker {wid}: add it first"))
}

/// What hangs from a worker, in words.
fn held_by(plant: &Plant, wid: u8) -> Option<String> {
    if let Some(owner) = plant.owner_on(wid) {
        return Some(owner.to_string());
    }
    let is_here = |above: &Above| plant.worker_of(above) == Some(wid);
    if let Some(class) = plant.classes.iter().find(|class| is_here(&class.place.above)) {
        return Some(format!("traffic class {}", class.name));
    }
    let task = plant.tasks.iter().find(|(_, place)| is_here(&place.above));
    task.map(|((module, number), _)| format!("task {number} of {module}"))
}

impl Workers for Daemon {
    fn pause_all(&mut self) -> Outcome {
        self.is_paused = true;
        // A service's own workers are no controller's of pipelines to stop.
        let plant = &self.plant;
        let is_own = |wid: &u8| plant.workers.get(wid).is_some_and(|wish| wish.is_of_service);
        let others = self.workers.iter_mut().filter(|(wid, _)| !is_own(wid));
        others.map(|(_, worker)| worker).try_for_each(|worker| worker.set_paused(true))
    }

    fn resume_all(&mut self) -> Outcome {
        let was_paused = std::mem::replace(&mut self.is_paused, false);
        // Tasks that lost their workers find one, and what could not run is refused: then all stays as it was.
        self.change(self.plant.clone()).inspect_err(|_| self.is_paused = was_paused)?;
        self.workers.values_mut().try_for_each(|worker| worker.set_paused(false))
    }

    fn pause_worker(&mut self, wid: u8) -> Outcome {
        self.set_paused(wid, true)
    }

    fn resume_worker(&mut self, wid: u8) -> Outcome {
        self.set_paused(wid, false)
    }

    fn reset_workers(&mut self) -> Outcome {
        let mut next = self.plant.clone();
        next.clear_workers();
        self.change_to(next)
    }

    fn workers(&mut self) -> Outcome<Vec<WorkerStatus>> {
        let mut list = Vec::new();
        for (wid, worker) in &self.workers {
            let class_count = worker.ask(|worker| worker.edit_classes(|tree| tree.iter().count()))?;
            list.push(WorkerStatus {
                wid: (*wid).into(),
                core: self.plant.workers.get(wid).map_or(-1, |wish| wish.core.into()),
                running: !worker.is_paused,
                num_tcs: class_count as i64,
                silent_drops: 0,
            });
        }
        Ok(list)
    }

    fn add_worker(&mut self, spec: WorkerSpec) -> Outcome {
        let wish = WorkerWish::on(spec.core);
        let mut next = self.plant.clone();
        match next.workers.get(&spec.wid) {
            None => {}
            // Nobody asked for it, so it is as good as not there.
            Some(old) if old.is_default && old.core == spec.core => {}
            Some(old) => {
                let text = format!("there is a worker {} on core {} already", spec.wid, old.core);
                return Err(Fault::new(Errno::EEXIST, text));
            }
        }
        next.workers.insert(spec.wid, wish);
        self.change(next)
    }

    fn destroy_worker(&mut self, wid: u8) -> Outcome {
        let mut next = self.plant.clone();
        next.workers.remove(&wid).ok_or_else(|| missing(wid))?;
        if let Some(held) = held_by(&self.plant, wid) {
            let text = format!("worker {wid} has {held}: move it to another worker, or remove it first");
            return Err(Fault::new(Errno::EBUSY, text));
        }
        let has_tasks =
            next.modules.iter().any(|(name, module)| module.task_count > 0 && next.owner(name).is_none());
        if next.default_worker().is_none() && has_tasks {
            let text = format!("worker {wid} is the last and modules have tasks: add another one first");
            return Err(Fault::new(Errno::EBUSY, text));
        }
        self.change_to(next)
    }
}
